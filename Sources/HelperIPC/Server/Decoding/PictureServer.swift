// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The helper's end of a connection over which a client fetches and exports pictures of the device. Decoders are not
/// involved: one may be waiting for the client to release a picture.
final class PictureServer: Sendable {
    private let channel: Channel
    private let pictures: DevicePictures

    init(_ channel: Channel, _ pictures: DevicePictures) {
        self.channel = channel
        self.pictures = pictures
    }

    /// Serves until the client closes the connection.
    ///
    /// - Throws: `malformedData` for a message that violates the protocol, `inputOutput` if the client is gone.
    func run() throws(MediaError) {
        while true {
            var descriptor: Descriptor?
            guard let message = try channel.receive(PictureClientMessage.self, descriptor: &descriptor, until: .never)
            else {
                throw MediaError(.inputOutput, "the client has closed its connection")
            }
            switch message {
            case .fetch(let order):
                let memory = try SharedMapping(received: descriptor, byteCount: order.byteCount, access: .readWrite)
                let answer: PictureHelperMessage
                do throws(MediaError) {
                    try copy(order, to: memory)
                    answer = .fetched
                } catch {
                    answer = .callFailed(error)
                }
                try channel.send(answer)
            case .export(let id):
                let exported: (notice: ExportNotice, picture: PixelBuffer, descriptors: [Int32])
                do throws(MediaError) {
                    exported = try export(id)
                } catch {
                    try channel.send(PictureHelperMessage.callFailed(error))
                    continue
                }
                try channel.send(PictureHelperMessage.exported(exported.notice), descriptors: exported.descriptors)
                withExtendedLifetime(exported.picture) {}
            case .close: return
            }
        }
    }

    /// - Returns: The picture as DMA-BUF, and its descriptors, which are open as long as the picture exists.
    private func export(
        _ id: UInt64
    ) throws(MediaError) -> (notice: ExportNotice, picture: PixelBuffer, descriptors: [Int32]) {
        let picture = try pictures.picture(id).exportDMABuf()
        guard case .dmaBuf(let buffer) = picture.storage else {
            throw MediaError(.unsupported, "the picture was not exported as DMA-BUF", given: picture.storage.name)
        }
        let objectCount = buffer.fileDescriptors.count
        let notice = ExportNotice(objectCount: objectCount, planes: buffer.planes, modifier: buffer.modifier)
        return (notice, picture, buffer.fileDescriptors)
    }

    private func copy(_ order: FetchOrder, to memory: SharedMapping) throws(MediaError) {
        let picture = try pictures.picture(order.id)
        guard picture.pictureDescription.shape == order.shape else {
            throw MediaError(
                .malformedData,
                "the picture has another format or size",
                given: "\(order.shape.width)x\(order.shape.height) \(order.shape.format.rawValue)",
                allowed: "\(picture.width)x\(picture.height) \(picture.format.rawValue)"
            )
        }
        let planes = try PictureMemory.planes(order.planes, of: picture.pictureDescription, in: memory)
        try picture.copyOnce(to: planes)
    }
}

extension PixelBuffer {
    /// Copies the samples, and keeps no copy of those of a device surface.
    func copyOnce(to planes: [PixelPlane]) throws(MediaError) {
        if case .deviceSurface(let surface) = storage {
            try surface.copy(pictureDescription).copySamples(to: planes)
        } else {
            try copySamples(to: planes)
        }
    }
}

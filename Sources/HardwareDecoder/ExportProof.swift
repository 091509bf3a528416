// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import HardwareDisplay
internal import Logging
internal import MediaTypes
internal import VAAPI
internal import VideoDecoding

/// A test of a driver's DMA-BUFs. Drivers state wrong modifiers, offsets and pitches, and other users of the memory would
/// then show a wrong picture.
///
/// A test card in a surface like those of a decoder is exported, and read as others read it: by what is stated alone. The
/// same is done with a decoded picture, because decoders may compress what they write.
struct ExportProof {
    private let picture: PixelBuffer.Description
    private let code: FourCC

    /// - Parameters:
    ///   - picture: The format and size of the surfaces.
    ///   - code: Their pixel format.
    init(_ picture: PixelBuffer.Description, _ code: FourCC) {
        self.picture = picture
        self.code = code
    }

    /// Runs the test.
    ///
    /// - Parameters:
    ///   - frame: A decoded frame, whose samples are complete.
    ///   - display: The display of the decoder.
    ///   - device: The path of its render node.
    ///   - reader: Copies samples of surfaces of the display.
    ///   - logger: Receives the messages of the driver on another display.
    /// - Returns: The layout of the exported memory, without descriptors.
    /// - Throws: `unsupported` if the driver cannot export, or other users of the memory would not see the picture.
    func run(
        with frame: FrameReference,
        _ display: borrowing Display,
        of device: String,
        _ reader: SurfaceReader,
        _ logger: Logger
    ) throws(MediaError) -> DMABufLayout {
        do throws(MediaError) {
            let card = try PixelBuffer.testCard(picture)
            let surface = try frame.another().surface(on: display, code)
            try draw(card, in: surface)
            // It knows nothing of the surfaces, like that of another process.
            let other = try Display(path: device, logger: logger)
            let exported = try surface.exportForReading()
            let memory = try exported.layout.dmaBuffer()
            try check(exported.layout, shows: card, on: other)
            if memory.isLinear { try check(memory, shows: card) }
            let decoded = try frame.surface(on: display, code).exportForReading()
            try decoded.layout.check(isLike: exported.layout.withoutDescriptors)
            let whole = PictureArea(width: picture.width, height: picture.height)
            try check(decoded.layout, shows: try reader.copy(frame.surface, code, whole, picture), on: other)
            return exported.layout.withoutDescriptors
        } catch {
            var refusal = error
            (refusal.code, refusal.isPermanent) = (.unsupported, true)
            refusal.message = "the driver's DMA-BUFs cannot be relied on: \(error.message)"
            throw refusal
        }
    }

    private func draw(_ card: PixelBuffer, in surface: Surface) throws(MediaError) {
        let result = try calling(.frameFailed) { () throws(VAError) in
            var upload = UploadState()
            let result = try surface.withWritablePlanes(&upload) { image in
                Result { () throws(MediaError) in try card.copySamples(to: try image.pixelPlanes(of: picture)) }
            }
            _ = try surface.wait()
            return result
        }
        try result.get()
    }

    /// Reads memory on another display.
    private func check(
        _ layout: DMABufLayout,
        shows expected: PixelBuffer,
        on display: borrowing Display
    ) throws(MediaError) {
        let result = try calling(.frameFailed) { () throws(VAError) in
            let surface = try display.importSurface(layout, renderTargetFormat: picture.format.renderTargetFormat)
            return try surface.withReadablePlanes { image in
                Result { () throws(MediaError) in try expected.difference(from: try image.pixelPlanes(of: picture)) }
            }
        }
        guard let difference = try result.get() else { return }
        throw MediaError(
            .unsupported,
            "the memory shows another picture after its import",
            given: "\(difference), exported as \(layout.summary)"
        )
    }

    /// Reads linear memory on the CPU, where that is possible.
    private func check(_ memory: DMABuffer, shows expected: PixelBuffer) throws(MediaError) {
        let mapped = try PixelBuffer(picture, dmaBuf: memory) {}
        let difference: String?
        do throws(MediaError) {
            difference = try mapped.withPlanes { (planes) throws(MediaError) in try expected.difference(from: planes) }
        } catch  where error.code == .unsupported {
            // The CPU does not reach all memory of a GPU.
            return
        }
        guard let difference else { return }
        throw MediaError(
            .unsupported,
            "memory that is stated to be linear shows another picture to the CPU",
            given: difference
        )
    }
}

extension FrameReference {
    /// Returns a frame with another surface of the decoder's own allocator.
    fileprivate func another() throws(MediaError) -> FrameReference {
        let other = try FrameReference()
        guard let frames = frame.pointee.hw_frames_ctx else {
            throw MediaError(.unsupported, "the surfaces of the decoder have no allocator")
        }
        try check(
            av_hwframe_get_buffer(frames, other.frame, 0),
            "av_hwframe_get_buffer",
            "there is no surface for a test picture",
            code: .frameFailed
        )
        return other
    }
}

extension WritablePlanes {
    /// Returns the planes of a picture in the upper left corner.
    ///
    /// - Throws: `malformedData` if they exceed the memory.
    fileprivate func pixelPlanes(of picture: PixelBuffer.Description) throws(MediaError) -> [PixelPlane] {
        var pixels: [PixelPlane] = []
        for (index, plane) in planes.prefix(picture.format.planeCount).enumerated() {
            guard let base = bytes.baseAddress,
                let extent = picture.format.planeExtent(index, width: picture.width, height: picture.height),
                plane.offset >= 0, plane.pitch >= extent.bytesPerRow,
                plane.offset + plane.pitch * (extent.rows - 1) + extent.bytesPerRow <= bytes.count
            else { break }
            pixels.append(PixelPlane(baseAddress: base + plane.offset, bytesPerRow: plane.pitch))
        }
        guard pixels.count == picture.format.planeCount else {
            throw MediaError(
                .malformedData,
                "an image of the driver is too small for its surface",
                given: "\(width)x\(height), \(bytes.count) bytes",
                allowed: "\(picture.width)x\(picture.height)"
            )
        }
        return pixels
    }
}

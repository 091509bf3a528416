// SPDX-License-Identifier: GPL-2.0-or-later

internal import HardwareDisplay
internal import Logging
internal import MediaTypes
internal import Synchronization
internal import VAAPI
internal import VideoDecoding

/// Exports surfaces of one decoder as DMA-BUFs. The first export of each kind of surface is preceded by an
/// ``ExportProof``; a driver that does not pass it exports nothing.
final class SurfaceExporter: Sendable {
    /// What determines the layout of a decoder's surfaces.
    private struct Kind: Hashable {
        var code: FourCC
        var width: Int
        var height: Int
    }

    private let display: Display
    private let device: String
    private let reader: SurfaceReader
    private let logger: Logger
    /// The layouts that were proved, and why others were not.
    private let proofs = Mutex<[Kind: Result<DMABufLayout, MediaError>]>([:])

    /// - Parameters:
    ///   - display: The display of the surfaces.
    ///   - device: The path of its render node.
    ///   - reader: Copies samples of surfaces of the display.
    ///   - logger: Receives the messages of the driver during a proof.
    init(_ display: borrowing Display, of device: String, _ reader: SurfaceReader, logger: Logger) {
        self.display = display.share()
        self.device = device
        self.reader = reader
        self.logger = logger
    }

    /// Exports a surface, read-only.
    ///
    /// - Parameters:
    ///   - frame: The frame of the surface, whose samples are complete.
    ///   - code: The pixel format of the surface.
    ///   - picture: The properties of the picture in its upper left corner.
    /// - Throws: `unsupported` if the driver cannot export such surfaces, or did not prove that it does so correctly.
    func export(
        _ frame: FrameReference,
        _ code: FourCC,
        _ picture: PixelBuffer.Description
    ) throws(MediaError) -> PixelBuffer {
        let proven = try layout(of: frame, code, picture.format)
        let memory = ExportedMemory(try frame.surface(on: display, code).exportForReading())
        try memory.layout.check(isLike: proven)
        return try PixelBuffer(picture, dmaBuf: try memory.layout.dmaBuffer()) { withExtendedLifetime(memory) {} }
    }

    /// Returns the layout of a decoder's surfaces.
    private func layout(
        of frame: FrameReference,
        _ code: FourCC,
        _ format: PixelFormat
    ) throws(MediaError) -> DMABufLayout {
        let (width, height) = frame.surfaceSize
        let kind = Kind(code: code, width: width, height: height)
        return try proofs.withLock { proofs in
            if let proof = proofs[kind] { return proof }
            let proof = ExportProof(PixelBuffer.Description(format: format, width: width, height: height), code)
            let result = Result { () throws(MediaError) in
                try proof.run(with: frame, display, of: device, reader, logger)
            }
            proofs[kind] = result
            return result
        }.get()
    }
}

/// An exported surface, whose descriptors are closed with the last reference.
private final class ExportedMemory: Sendable {
    private let surface: ExportedSurface
    var layout: DMABufLayout { surface.layout }
    init(_ surface: consuming ExportedSurface) { self.surface = surface }
}

extension Surface {
    /// Exports the surface as decoders of this package do it.
    func exportForReading() throws(MediaError) -> ExportedSurface {
        try calling(.frameFailed) { () throws(VAError) in try export(writable: false, separateLayers: true) }
    }
}

extension FrameReference {
    /// Returns the frame's surface, which keeps the frame.
    func surface(on display: borrowing Display, _ code: FourCC) -> Surface {
        let (width, height) = surfaceSize
        return Surface(borrowing: surface, of: display, width: width, height: height, format: code, owner: self)
    }
}

extension DMABufLayout {
    /// - Throws: `unsupported` if the memory differs in more than its descriptors from that of a test picture.
    func check(isLike proven: DMABufLayout) throws(MediaError) {
        guard withoutDescriptors == proven else {
            throw MediaError(
                .unsupported,
                "the driver exports a decoded picture with another layout than a test picture",
                given: summary,
                allowed: proven.summary
            )
        }
    }

    /// The layout, to be compared with that of other memory.
    var withoutDescriptors: DMABufLayout {
        var layout = self
        for index in layout.objects.indices { layout.objects[index].descriptor = -1 }
        return layout
    }

    /// The layout in a few words, for errors.
    var summary: String {
        let modifiers = Set(objects.map(\.modifier)).sorted().map { "0x" + String($0, radix: 16) }
        let planes = layers.flatMap(\.planes).map { plane in
            "\(plane.pitch) bytes per row from \(plane.offset) on in object \(plane.object)"
        }
        return "\(width)x\(height), modifier \(modifiers.joined(separator: " and ")), "
            + planes.joined(separator: ", ")
    }

    /// `DRM_FORMAT_MOD_INVALID`: only the driver knows the arrangement of the samples.
    private static let implicitModifier: UInt64 = 0x00FF_FFFF_FFFF_FFFF

    /// Returns the description for other users of the memory.
    ///
    /// - Throws: `unsupported` if the memory has no modifier, or several.
    func dmaBuffer() throws(MediaError) -> DMABuffer {
        guard let modifier = objects.first?.modifier, modifier != Self.implicitModifier,
            objects.allSatisfy({ $0.modifier == modifier })
        else {
            throw MediaError(
                .unsupported,
                "the driver exports memory without one format modifier for all of it",
                given: summary
            )
        }
        let planes = layers.flatMap(\.planes).map { plane in
            let layout = PlaneLayout(offset: Int(plane.offset), bytesPerRow: Int(plane.pitch))
            return DMABuffer.Plane(object: Int(plane.object), layout: layout)
        }
        return DMABuffer(fileDescriptors: objects.map(\.descriptor), planes: planes, modifier: modifier)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import HardwareDisplay
internal import MediaTypes
internal import Synchronization
internal import VAAPI
internal import VideoDecoding

/// A decoded picture in a surface, which the decoder does not use again as long as this object exists.
final class DecodedSurface: DisplaySurface {
    let device: String
    /// The pixel format of the surface.
    let format: PixelFormat
    /// The part that is shown.
    let visible: PictureArea

    private let code: FourCC
    private let frame: FrameReference
    private let display: Display
    private let reader: SurfaceReader
    private let exporter: SurfaceExporter

    /// - Parameters:
    ///   - frame: A frame whose samples are complete.
    ///   - display: The display of its surface.
    ///   - device: The path of the render node.
    ///   - reader: Copies samples of surfaces of the display.
    ///   - exporter: Exports surfaces of the decoder.
    /// - Throws: `unsupported` if the surface has a format that no pixel format can hold.
    init(
        _ frame: FrameReference,
        _ display: borrowing Display,
        device: String,
        _ reader: SurfaceReader,
        _ exporter: SurfaceExporter
    ) throws(MediaError) {
        (format, code) = try frame.surfaceFormat()
        let shown = frame.frame.pointee
        let (left, top) = (Int(shown.crop_left), Int(shown.crop_top))
        visible = PictureArea(x: left, y: top, width: Int(shown.width) - left, height: Int(shown.height) - top)
        self.frame = frame
        self.display = display.share()
        self.device = device
        self.reader = reader
        self.exporter = exporter
    }

    var isReadable: Bool { true }

    func copy(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        try reader.copy(frame.surface, code, visible, picture)
    }

    func export(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        try exporter.export(frame, code, picture)
    }

    func surface(on display: borrowing Display) -> Surface? {
        guard self.display.isShared(with: display) else { return nil }
        return frame.surface(on: display, code)
    }
}

/// Copies pictures out of surfaces of one display, for one thread at a time.
final class SurfaceReader: Sendable {
    private struct State: ~Copyable {
        var download: SurfaceDownload
        var memory = PictureMemory()
    }

    private let state: Mutex<State>

    init(_ display: borrowing Display) { state = Mutex(State(download: SurfaceDownload(display))) }

    /// Copies a part of a surface into memory.
    ///
    /// - Parameters:
    ///   - surface: The libva ID of the surface, whose samples are complete.
    ///   - code: The pixel format of the surface.
    ///   - part: The part, with an even position.
    ///   - picture: The properties of the picture in it.
    func copy(
        _ surface: UInt32,
        _ code: FourCC,
        _ part: PictureArea,
        _ picture: PixelBuffer.Description
    ) throws(MediaError) -> PixelBuffer {
        try state.withLock { (state) throws(MediaError) in
            let properties = FrameProperties(
                color: picture.color,
                pixelAspectRatio: picture.pixelAspectRatio,
                attachments: picture.attachments
            )
            let format = picture.format
            let buffer = try state.memory.make(format, width: part.width, height: part.height, properties)
            // The driver copies from the upper left corner: not all can begin elsewhere.
            let result: Result<Void, MediaError> = try calling(.frameFailed) { () throws(VAError) in
                try state.download.withReadablePlanes(
                    of: surface,
                    format: code,
                    width: part.x + part.width,
                    height: part.y + part.height
                ) { source in
                    Result { () throws(MediaError) in try source.copy(from: (part.x, part.y), to: buffer) }
                }
            }
            try result.get()
            return buffer
        }
    }
}

extension WritablePlanes {
    /// Copies a part of the picture, with an even position.
    fileprivate func copy(from position: (x: Int, y: Int), to target: PixelBuffer) throws(MediaError) {
        guard let base = bytes.baseAddress else { return }
        let description = target.pictureDescription
        let size = description.format.bytesPerSample
        let planes = planes.prefix(description.format.planeCount).enumerated().map { index, plane in
            // Chroma has half as many rows, and rows of as many samples.
            let row = index == 0 ? position.y : position.y / 2
            return PixelPlane(
                baseAddress: base + plane.offset + row * plane.pitch + position.x * size,
                bytesPerRow: plane.pitch
            )
        }
        let picture = try PixelBuffer(description, planes: planes) {}
        try target.withPlanes { (planes) throws(MediaError) in try picture.copySamples(to: planes) }
    }
}

extension FrameReference {
    var frame: UnsafeMutablePointer<AVFrame> { address.assumingMemoryBound(to: AVFrame.self) }

    /// The libva ID of the surface: the value of the fourth data pointer (pixfmt.h, `AV_PIX_FMT_VAAPI`).
    var surface: UInt32 { UInt32(truncatingIfNeeded: UInt(bitPattern: frame.pointee.data.3)) }

    /// The size of the surface in samples: that of the coded pictures, rounded up.
    var surfaceSize: (width: Int, height: Int) {
        guard let frames = frame.pointee.hw_frames_ctx?.pointee.data else {
            return (Int(frame.pointee.width), Int(frame.pointee.height))
        }
        let context = UnsafeMutableRawPointer(frames).assumingMemoryBound(to: AVHWFramesContext.self).pointee
        return (Int(context.width), Int(context.height))
    }

    /// Returns the pixel format of the surface.
    func surfaceFormat() throws(MediaError) -> (PixelFormat, FourCC) {
        let raw: Int32
        if frame.pointee.format == AV_PIX_FMT_VAAPI.rawValue, let frames = frame.pointee.hw_frames_ctx?.pointee.data {
            raw =
                UnsafeMutableRawPointer(frames).assumingMemoryBound(to: AVHWFramesContext.self).pointee.sw_format
                .rawValue
        } else {
            raw = frame.pointee.format
        }
        switch AVPixelFormat(raw) {
        case AV_PIX_FMT_NV12: return (.nv12, .nv12)
        case AV_PIX_FMT_P010LE: return (.p010, .p010)
        default:
            throw MediaError(
                .unsupported,
                "the driver's surfaces have a pixel format that is not supported",
                given: PictureLayout(rawFormat: raw)?.name ?? "format \(raw)",
                allowed: "nv12, p010le"
            )
        }
    }
}

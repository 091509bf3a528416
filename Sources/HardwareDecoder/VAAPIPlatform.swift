// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import HardwareEncoder
internal import Logging
internal import MediaTypes
internal import VAAPI
internal import VideoDecoding

/// A GPU, for libavcodec's VA-API decoders. Used by one thread at a time.
final class VAAPIPlatform: DecodingPlatform {
    let name: String
    private(set) var copiedPictures = 0

    private let driver: DriverDescription
    private let device: LibraryDevice
    private let refusal: StreamRefusal
    private var download: SurfaceDownload
    private var memory = PictureMemory()

    /// The surfaces beyond those of the decoded picture buffer: for the picture that is copied.
    private static let extraSurfaces: Int32 = 2

    /// Opens a device.
    ///
    /// - Throws: `unavailable` if the device or its driver cannot be used.
    init(device path: String, logger: Logger) throws(MediaError) {
        let display = try Display(path: path, logger: logger)
        driver = try calling(.creationFailed) { () throws(VAError) in try display.describe() }
        name = "\(driver.vendor), \(libraryName)"
        refusal = StreamRefusal()
        device = try LibraryDevice(display, refusal)
        download = SurfaceDownload(display)
    }

    var onMessage: @Sendable (String) -> MediaError? { { [refusal] in refusal.error(for: $0) } }

    func prepare(_ context: UnsafeMutableRawPointer, for format: FormatDescription) throws(MediaError) {
        let stream = try StreamProfile(format)
        try stream.check(driver)
        refusal.begin(stream)
        let context = context.assumingMemoryBound(to: AVCodecContext.self)
        context.pointee.hw_device_ctx = try device.reference()
        context.pointee.extra_hw_frames = Self.extraSurfaces
        // With several threads, libavcodec would still submit one picture at a time.
        context.pointee.thread_count = 1
        if stream.isPlainBaseline { context.pointee.hwaccel_flags |= AV_HWACCEL_FLAG_ALLOW_PROFILE_MISMATCH }
        context.pointee.get_format = { context, formats in
            var offered = formats
            while let format = offered?.pointee, format != AV_PIX_FMT_NONE {
                if format == AV_PIX_FMT_VAAPI { return format }
                offered = offered?.successor()
            }
            LibraryDevice.refusal(of: context)?.refuse()
            return AV_PIX_FMT_NONE
        }
    }

    func failure(_ status: Int32) -> MediaError? {
        if let error = refusal.error { return error }
        // The pool of surfaces has a fixed size, which the driver's context requires.
        if status == ffmpeg_error_no_memory {
            return MediaError(.frameFailed, "no surface of the decoder is free", call: "av_hwframe_get_buffer")
        }
        guard status == ffmpeg_error(EIO) || status == ffmpeg_error(ENOSYS) else { return nil }
        return MediaError(.frameFailed, "the device cannot decode a picture: \(describe(status))", status: Int(status))
    }
}

// MARK: - Pictures

extension VAAPIPlatform {
    func wait(for frame: FrameReference) throws(MediaError) -> String? {
        do throws(VAError) {
            try download.wait(for: frame.surface)
            return nil
        } catch  where error.status.isDamage {
            return "\(error)"
        } catch {
            throw MediaError(error, .frameFailed)
        }
    }

    func picture(of frame: FrameReference, _ properties: FrameProperties) throws(MediaError) -> PixelBuffer {
        let (format, code) = try frame.surfaceFormat()
        let visible = frame.frame.pointee
        let (left, top) = (Int(visible.crop_left), Int(visible.crop_top))
        let (width, height) = (Int(visible.width) - left, Int(visible.height) - top)
        let buffer = try memory.make(format, width: width, height: height, properties)
        // The driver copies from the upper left corner: not all can begin elsewhere.
        let result: Result<Void, MediaError> = try calling(.frameFailed) { () throws(VAError) in
            try download.withReadablePlanes(
                of: frame.surface,
                format: code,
                width: left + width,
                height: top + height
            ) { source in
                Result { () throws(MediaError) in try source.copy(from: (left, top), to: buffer) }
            }
        }
        try result.get()
        copiedPictures += 1
        return buffer
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

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import HardwareDisplay
internal import Logging
internal import MediaTypes
internal import VAAPI
internal import VideoDecoding

/// A GPU, for libavcodec's VA-API decoders. Used by one thread at a time.
final class VAAPIPlatform: DecodingPlatform {
    let name: String
    private(set) var copiedPictures = 0

    private let path: String
    private let display: Display
    private let driver: DriverDescription
    private let device: LibraryDevice
    private let refusal: StreamRefusal
    private let reader: SurfaceReader
    private let exporter: SurfaceExporter
    /// The number of pictures that may stay in their surfaces.
    private let devicePictures: Int

    /// Opens a device.
    ///
    /// - Throws: `unavailable` if the device or its driver cannot be used.
    init(
        _ display: borrowing Display,
        of path: String,
        devicePictures: Int,
        logger: Logger
    ) throws(MediaError) {
        self.path = path
        self.display = display.share()
        self.devicePictures = max(devicePictures, 0)
        driver = try calling(.creationFailed) { () throws(VAError) in try display.describe() }
        name = "\(driver.vendor), \(libraryName)"
        refusal = StreamRefusal()
        device = try LibraryDevice(display, refusal)
        reader = SurfaceReader(display)
        exporter = SurfaceExporter(display, of: path, reader, logger: logger)
    }

    var onMessage: @Sendable (String) -> LibraryMessage { { [refusal] in refusal.meaning(of: $0) } }

    func prepare(_ context: UnsafeMutableRawPointer, for format: FormatDescription) throws(MediaError) {
        let stream = try StreamProfile(format)
        try stream.check(driver)
        refusal.begin(stream)
        let context = context.assumingMemoryBound(to: AVCodecContext.self)
        context.pointee.hw_device_ctx = try device.reference()
        // With several threads, libavcodec would still submit one picture at a time.
        context.pointee.thread_count = 1
        if stream.isPlainBaseline { context.pointee.hwaccel_flags |= AV_HWACCEL_FLAG_ALLOW_PROFILE_MISMATCH }
        context.pointee.get_format = { context, formats in
            var offered = formats
            while let format = offered?.pointee, format != AV_PIX_FMT_NONE {
                if format == AV_PIX_FMT_VAAPI {
                    LibraryDevice.prepareSurfaces(of: context)
                    return format
                }
                offered = offered?.successor()
            }
            LibraryDevice.refusal(of: context)?.refuse()
            return AV_PIX_FMT_NONE
        }
    }

    func failure(_ status: Int32) -> MediaError? {
        if let error = refusal.error { return error }
        if status == ffmpeg_error_no_memory {
            return MediaError(.frameFailed, "the decoder gets no surface", call: "av_hwframe_get_buffer")
        }
        guard status == ffmpeg_error(EIO) || status == ffmpeg_error(ENOSYS) else { return nil }
        return MediaError(.frameFailed, "the device cannot decode a picture: \(describe(status))", status: Int(status))
    }
}

// MARK: - Pictures

extension VAAPIPlatform {
    var completesLater: Bool { true }

    func wait(for frame: FrameReference) throws(MediaError) -> String? {
        do throws(VAError) {
            try display.wait(forSurface: frame.surface)
            return nil
        } catch  where error.status.isDamage {
            return "\(error)"
        } catch {
            throw MediaError(error, .frameFailed)
        }
    }

    func picture(of frame: FrameReference, _ properties: FrameProperties) throws(MediaError) -> PixelBuffer {
        let surface = try DecodedSurface(frame, display, device: path, reader, exporter)
        let visible = surface.visible
        let picture = PixelBuffer.Description(
            format: surface.format,
            width: visible.width,
            height: visible.height,
            color: properties.color,
            pixelAspectRatio: properties.pixelAspectRatio,
            attachments: properties.attachments
        )
        // An encoder reads surfaces from the upper left corner.
        if devicePictures > 0, visible.x == 0, visible.y == 0 { return try PixelBuffer(picture, surface: surface) }
        copiedPictures += 1
        return try surface.copy(picture)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VAAPI

/// A display as a device of libavutil. Everything that libavutil creates on it keeps the display open.
final class LibraryDevice {
    private var context: UnsafeMutablePointer<AVBufferRef>?

    /// What libavutil keeps.
    private final class Owner {
        let display: Display
        let refusal: StreamRefusal

        init(_ display: consuming Display, _ refusal: StreamRefusal) {
            self.display = display
            self.refusal = refusal
        }
    }

    /// - Parameter refusal: Receives refusals of decoders with this device.
    init(_ display: borrowing Display, _ refusal: StreamRefusal) throws(MediaError) {
        context = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_VAAPI)
        guard let context, let device = Self.device(context) else {
            throw MediaError(
                .unsupported,
                "FFmpeg's libraries were built without VA-API",
                call: "av_hwdevice_ctx_alloc"
            )
        }
        let owner = Owner(display.share(), refusal)
        ffmpeg_set_va_display(device, owner.display.address)
        device.pointee.user_opaque = Unmanaged.passRetained(owner).toOpaque()
        device.pointee.free = { device in
            guard let owner = device?.pointee.user_opaque else { return }
            Unmanaged<Owner>.fromOpaque(owner).release()
        }
        do throws(MediaError) {
            try check(
                av_hwdevice_ctx_init(context),
                "av_hwdevice_ctx_init",
                "the device cannot be used",
                code: .creationFailed
            )
        } catch {
            av_buffer_unref(&self.context)
            throw error
        }
    }

    deinit { av_buffer_unref(&context) }

    /// Returns a new reference, which the caller owns.
    func reference() throws(MediaError) -> UnsafeMutablePointer<AVBufferRef> {
        guard let reference = av_buffer_ref(context) else {
            throw MediaError(.outOfMemory, "no memory for a device", call: "av_buffer_ref")
        }
        return reference
    }

    /// Has a decoder create its surfaces when it needs them, and not as many as it may ever need when it starts: these
    /// are a hundred megabytes in 1080 rows, and seconds of a start in 4320.
    ///
    /// A context of VA-API takes the surfaces that exist as a hint only. Without any, iHD and radeonsi work as well
    /// (libva issue 251). If surfaces cannot be prepared, the decoder does it, and reports why not.
    static func prepareSurfaces(of decoder: UnsafeMutablePointer<AVCodecContext>?) {
        guard let decoder, let device = decoder.pointee.hw_device_ctx else { return }
        var frames: UnsafeMutablePointer<AVBufferRef>?
        defer { av_buffer_unref(&frames) }
        guard avcodec_get_hw_frames_parameters(decoder, device, AV_PIX_FMT_VAAPI, &frames) >= 0,
            let context = frames?.pointee.data
        else { return }
        UnsafeMutableRawPointer(context).assumingMemoryBound(to: AVHWFramesContext.self).pointee.initial_pool_size = 0
        if av_hwframe_ctx_init(frames) >= 0 { decoder.pointee.hw_frames_ctx = av_buffer_ref(frames) }
    }

    /// Returns the receiver of a decoder's refusals.
    static func refusal(of decoder: UnsafeMutablePointer<AVCodecContext>?) -> StreamRefusal? {
        guard let device = decoder?.pointee.hw_device_ctx.flatMap({ device($0) }),
            let owner = device.pointee.user_opaque
        else { return nil }
        return Unmanaged<Owner>.fromOpaque(owner).takeUnretainedValue().refusal
    }

    private static func device(_ context: UnsafeMutablePointer<AVBufferRef>) -> UnsafeMutablePointer<AVHWDeviceContext>?
    {
        context.pointee.data.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: AVHWDeviceContext.self) }
    }
}

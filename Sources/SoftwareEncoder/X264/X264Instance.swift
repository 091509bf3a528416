// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264
internal import Logging
internal import MediaTypes

/// Owns one `x264_t`. Like the library's functions, it is used by one thread at a time.
final class X264Instance {
    private let handle: OpaquePointer
    private let log: X264Log

    init(_ parameters: x264_param_t, logger: Logger) throws(MediaError) {
        log = X264Log(logger)
        var parameters = parameters
        log.install(in: &parameters)
        // The file names for two-pass encoding, which is not used; x264 leaks its copies if opening fails.
        parameters.rc.psz_stat_out = nil
        parameters.rc.psz_stat_in = nil
        guard let handle = x264_shim_encoder_open(&parameters) else {
            let reason = log.takeErrors()
            throw MediaError(
                reason == nil ? .creationFailed : .unsupported,
                "x264 could not be opened" + (reason.map { ": \($0)" } ?? ""),
                call: "x264_encoder_open"
            )
        }
        self.handle = handle
    }

    deinit { x264_encoder_close(handle) }

    /// The effective parameters, as x264 adjusted them.
    var parameters: x264_param_t {
        var parameters = x264_param_t()
        x264_encoder_parameters(handle, &parameters)
        return parameters
    }

    /// The number of frames that were accepted and not returned yet.
    var delayedFrames: Int { Int(x264_encoder_delayed_frames(handle)) }

    /// The maximum number of frames that are accepted before the first is returned.
    var maximumDelayedFrames: Int { Int(x264_encoder_maximum_delayed_frames(handle)) }

    /// The SPS and PPS, without start codes.
    func parameterSets() throws(MediaError) -> [[UInt8]] {
        var units: UnsafeMutablePointer<x264_nal_t>?
        var count: Int32 = 0
        let status = x264_encoder_headers(handle, &units, &count)
        guard status >= 0, let units else { throw failure(.creationFailed, call: "x264_encoder_headers", status) }
        let access = X264AccessUnit(UnsafeBufferPointer(start: units, count: Int(count)))
        return access.parameterSets.map { Array($0) }
    }

    /// Encodes `picture`, or finishes a delayed one if it is `nil`.
    ///
    /// - Parameter body: Called with the output, if there is any, and the frame number in x264's `opaque`. The bytes
    ///   are valid only inside `body`.
    func encode(
        _ picture: UnsafeMutablePointer<x264_picture_t>?,
        _ body: (X264AccessUnit, Int64) -> Void
    ) throws(MediaError) {
        var units: UnsafeMutablePointer<x264_nal_t>?
        var count: Int32 = 0
        var result = x264_picture_t()
        let size = x264_encoder_encode(handle, &units, &count, picture, &result)
        guard size >= 0 else { throw failure(.frameFailed, call: "x264_encoder_encode", size) }
        guard size > 0, let units else { return }
        body(
            X264AccessUnit(UnsafeBufferPointer(start: units, count: Int(count))),
            Int64(Int(bitPattern: result.opaque))
        )
    }

    /// Changes the parameters that can be changed; the change applies from the next frame that is encoded.
    func reconfigure(_ parameters: x264_param_t) throws(MediaError) {
        var parameters = parameters
        let status = x264_encoder_reconfig(handle, &parameters)
        guard status >= 0 else { throw failure(.invalidArgument, call: "x264_encoder_reconfig", status) }
    }

    private func failure(_ code: MediaError.Code, call: String, _ status: Int32) -> MediaError {
        let reason = log.takeErrors().map { ": \($0)" } ?? ""
        return MediaError(code, "x264 failed\(reason)", call: call, status: Int(status))
    }
}

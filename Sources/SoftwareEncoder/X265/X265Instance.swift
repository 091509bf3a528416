// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX265
internal import MediaTypes

/// Owns one `x265_encoder`. Like the library's functions, it is used by one thread at a time.
final class X265Instance {
    /// The effective parameters, as x265 adjusted them, without strings.
    let parameters: x265_param
    /// The processor's instructions that x265 uses in this process, as in `x265_param.cpuid`.
    let instructions: Int32
    /// The number of frames that were accepted and not returned yet.
    private(set) var delayedFrames = 0

    private let library: X265Library
    private let encoder: OpaquePointer

    init(_ settings: X265Settings) throws(MediaError) {
        library = settings.library
        let opened = settings.withParameters { parameters in settings.library.open(&parameters) }
        guard let opened else {
            throw MediaError(
                .unsupported,
                "x265 rejects these settings without reporting a reason",
                call: "x265_encoder_open"
            )
        }
        (encoder, instructions) = (opened.encoder, opened.instructions)
        var parameters = x265_param()
        library.api.encoder_parameters(encoder, &parameters)
        x265_shim_free_strings(&parameters)
        self.parameters = parameters
    }

    /// Ends the threads of the encoder and waits for them.
    deinit { library.api.encoder_close(encoder) }

    /// The maximum number of frames that are accepted before the first is returned: the lookahead, frames that wait for
    /// the end of a sequence of B-frames, and one for each thread that encodes frames.
    var maximumDelayedFrames: Int {
        let isAtOnce =
            parameters.bframes == 0 && parameters.lookaheadDepth == 0 && parameters.frameNumThreads == 1
            && parameters.maxSlices == 1
        return isAtOnce
            ? 0 : Int(parameters.lookaheadDepth) + Int(parameters.bframes) + Int(parameters.frameNumThreads) + 2
    }

    /// The VPS, SPS and PPS, without start codes.
    func parameterSets() throws(MediaError) -> [[UInt8]] {
        var units: UnsafeMutablePointer<x265_nal>?
        var count: UInt32 = 0
        let status = library.api.encoder_headers(encoder, &units, &count)
        guard status >= 0, let units else { throw failure(.creationFailed, call: "x265_encoder_headers", status) }
        return X265AccessUnit(UnsafeBufferPointer(start: units, count: Int(count))).parameterSets.map { Array($0) }
    }

    /// Returns a picture for ``encode(_:_:)`` with only its format set.
    func makePicture() -> x265_picture {
        var (picture, parameters) = (x265_picture(), parameters)
        library.api.picture_init(&parameters, &picture)
        return picture
    }

    /// Encodes `picture`, or finishes a delayed one if it is `nil`.
    ///
    /// - Parameter body: Called with the output, if there is any, and the frame number in x265's `userData`. The bytes
    ///   are valid only inside `body`.
    /// - Returns: Whether there was any output.
    @discardableResult
    func encode(
        _ picture: UnsafeMutablePointer<x265_picture>?,
        _ body: (X265AccessUnit, Int64) -> Void
    ) throws(MediaError) -> Bool {
        var units: UnsafeMutablePointer<x265_nal>?
        var count: UInt32 = 0
        var result = makePicture()
        let status = library.api.encoder_encode(encoder, &units, &count, picture, &result)
        guard status >= 0 else { throw failure(.frameFailed, call: "x265_encoder_encode", status) }
        if picture != nil { delayedFrames += 1 }
        guard status > 0, count > 0, let units else { return false }
        delayedFrames -= 1
        body(
            X265AccessUnit(UnsafeBufferPointer(start: units, count: Int(count))),
            Int64(Int(bitPattern: result.userData))
        )
        return true
    }

    private func failure(_ code: MediaError.Code, call: String, _ status: Int32) -> MediaError {
        MediaError(code, "x265 failed", call: call, status: Int(status))
    }
}

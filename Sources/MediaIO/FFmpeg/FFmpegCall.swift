// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes

/// The one place where the status of an FFmpeg call becomes an error.
///
/// - Parameters:
///   - status: What the call returned; below zero it failed.
///   - call: The C function's name.
///   - message: What could not be done, in words for a person.
///   - given: The value at fault, such as a path.
/// - Returns: The status, zero or above.
@discardableResult
func check(
    _ status: Int32,
    _ call: String,
    _ message: @autoclosure () -> String,
    code: MediaError.Code = .inputOutput,
    given: @autoclosure () -> String? = nil
) throws(MediaError) -> Int32 {
    if status >= 0 { return status }
    throw MediaError(
        status == ffmpeg_error_no_memory ? .outOfMemory : code,
        "\(message()): \(describe(status))",
        given: given(),
        call: call,
        status: Int(status)
    )
}

/// FFmpeg's text for a status, for example "No such file or directory".
func describe(_ status: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
        guard let base = text.baseAddress, av_strerror(status, base, text.count) >= 0 else { return "error \(status)" }
        return String(cString: base)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
package import MediaTypes

/// Converts the status of an FFmpeg call to an error.
///
/// - Parameters:
///   - status: The status that the call returned; negative if it failed.
///   - call: The name of the C function.
///   - message: The description of the failure for users.
///   - given: The value that caused it, such as a path.
/// - Returns: The status, zero or positive.
@discardableResult
package func check(
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

/// Returns FFmpeg's description of a status, for example "No such file or folder".
package func describe(_ status: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
        guard let base = text.baseAddress, av_strerror(status, base, text.count) >= 0 else { return "error \(status)" }
        return String(cString: base)
    }
}

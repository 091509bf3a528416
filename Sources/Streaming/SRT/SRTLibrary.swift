// SPDX-License-Identifier: GPL-2.0-or-later

internal import CSRT
internal import Glibc
package import Logging
internal import MediaTypes
internal import Synchronization

/// libsrt, which has one state and one log for the whole process.
///
/// It starts with the first connection, and a destructor of the library ends it with the process. FFmpeg's libraries,
/// which use it as well, count their own start and end.
package enum SRTLibrary {
    private static let current = Mutex<Logger?>(nil)

    /// Receives libsrt's errors as `warning` and its warnings as `debug`; other messages are dropped. libsrt logs from
    /// its own threads. `nil`, the default, discards all messages: libsrt never writes to standard error after the
    /// first connection was made.
    package static var logger: Logger? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Starts the library, once.
    static func start() throws(MediaError) {
        guard !isStarted else { return }
        throw MediaError(.unavailable, "libsrt cannot be started", call: "srt_startup", isPermanent: false)
    }

    private static let isStarted: Bool = {
        let flags =
            SRT_LOGF_DISABLE_TIME | SRT_LOGF_DISABLE_THREADNAME | SRT_LOGF_DISABLE_SEVERITY | SRT_LOGF_DISABLE_EOL
        srt_setlogflags(flags)
        srt_setloglevel(LOG_WARNING)
        srt_setloghandler(nil) { _, level, _, _, _, message in
            guard let message else { return }
            SRTLibrary.log(String(cString: message), level: level)
        }
        return srt_startup() >= 0
    }()

    private static func log(_ message: String, level: Int32) {
        guard level <= LOG_WARNING, let logger else { return }
        let text = message.drop { $0 == ":" || $0 == " " }.prefix { !$0.isNewline }
        logger.log(level: level <= LOG_ERR ? .warning : .debug, "libsrt: \(text)")
    }

    /// The error of the last call of this thread.
    static func failure(
        _ message: String,
        code: MediaError.Code = .inputOutput,
        given: String? = nil,
        call: String
    ) -> MediaError {
        var systemError: Int32 = 0
        let status = srt_getlasterror(&systemError)
        let reason = String(cString: srt_strerror(status, systemError))
        return MediaError(
            code,
            "\(message) (\(reason))",
            given: given,
            call: call,
            status: Int(status),
            isPermanent: false
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import Glibc
public import Logging
internal import Synchronization

/// Where the messages of FFmpeg's libraries go that belong to no source or sink with a logger of its own.
///
/// FFmpeg has one log callback for the whole process. A ``MediaSource``, ``MediaSink`` or ``SampleDecoder`` that has a
/// logger gets its own messages, also those of its decoder's threads; everything else goes to ``logger``. FFmpeg never
/// writes to standard error by itself once this package has opened its first source or sink.
public enum MediaLog {
    private static let current = Mutex<Logger?>(nil)

    /// Receives FFmpeg's messages: its errors as `warning`, its warnings as `debug`, the rest not at all. FFmpeg logs
    /// from its own threads. `nil`, the default, for silence.
    public static var logger: Logger? {
        get { current.withLock { $0 } }
        set {
            install()
            current.withLock { $0 = newValue }
        }
    }

    /// Takes FFmpeg's log over; called before every first use of its libraries.
    static func install() { _ = installed }

    private static let installed: Void = av_log_set_callback { object, level, format, arguments in
        guard level <= AV_LOG_WARNING, let format, let arguments else { return }
        guard let logger = LogRoute.logger(for: object) ?? MediaLog.logger else { return }
        let level: Logger.Level = level <= AV_LOG_ERROR ? .warning : .debug
        guard level >= logger.logLevel else { return }
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
            guard let base = buffer.baseAddress else { return "" }
            vsnprintf(base, buffer.count, format, arguments)
            return String(cString: base)
        }
        let message = String(text.reversed().drop { $0.isWhitespace }.reversed())
        guard !message.isEmpty else { return }
        logger.log(level: level, "\(message)", metadata: ["component": "\(component(of: object))"])
    }

    /// The name of the part of FFmpeg that logs, for example `h264`.
    private static func component(of object: UnsafeMutableRawPointer?) -> String {
        guard let object, let type = logClass(of: object), let name = type.pointee.item_name?(object) else {
            return "ffmpeg"
        }
        return String(cString: name)
    }

    /// What an object that logs is: the first field of each points to its class.
    static func logClass(of object: UnsafeMutableRawPointer) -> UnsafePointer<AVClass>? {
        object.assumingMemoryBound(to: UnsafePointer<AVClass>?.self).pointee
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import Glibc
public import Logging
internal import Synchronization

/// The logger for messages of FFmpeg's libraries that belong to no source or sink with its own logger.
///
/// FFmpeg has one log callback for the whole process. A source, sink, encoder or decoder with a
/// logger receives its own messages, including those of its decoder's threads; all others go to ``logger``. After this
/// package has opened its first source or sink, FFmpeg no longer writes to standard error.
public enum MediaLog {
    private static let current = Mutex<Logger?>(nil)

    /// Receives FFmpeg's errors as `warning` and its warnings as `debug`; other messages are dropped. FFmpeg also logs
    /// from its own threads. `nil`, the default, discards all messages.
    public static var logger: Logger? {
        get { current.withLock { $0 } }
        set {
            install()
            current.withLock { $0 = newValue }
        }
    }

    /// Installs FFmpeg's log callback; called before every first use of its libraries.
    package static func install() { _ = installed }

    private static let installed: Void = av_log_set_callback { object, level, format, arguments in
        guard level <= AV_LOG_WARNING, let format, let arguments else { return }
        let route = LogRoute.destination(for: object)
        let isError = level <= AV_LOG_ERROR
        let level: Logger.Level = isError ? .warning : .debug
        let logger = (route?.0.logger ?? MediaLog.logger).flatMap { level >= $0.logLevel ? $0 : nil }
        let onError = isError ? route?.0.onError : nil
        guard logger != nil || onError != nil else { return }
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
            guard let base = buffer.baseAddress else { return "" }
            vsnprintf(base, buffer.count, format, arguments)
            return String(cString: base)
        }
        let message = String(text.reversed().drop { $0.isWhitespace }.reversed())
        guard !message.isEmpty else { return }
        if let route { onError?(route.tag, message) }
        logger?.log(level: level, "\(message)", metadata: ["component": "\(component(of: object))"])
    }

    /// Returns the name of the FFmpeg component that logs, for example `h264`.
    private static func component(of object: UnsafeMutableRawPointer?) -> String {
        guard let object, let type = logClass(of: object), let name = type.pointee.item_name?(object) else {
            return "ffmpeg"
        }
        return String(cString: name)
    }

    /// Returns the class of an object that logs: the first field of each object points to its class.
    static func logClass(of object: UnsafeMutableRawPointer) -> UnsafePointer<AVClass>? {
        object.assumingMemoryBound(to: UnsafePointer<AVClass>?.self).pointee
    }
}

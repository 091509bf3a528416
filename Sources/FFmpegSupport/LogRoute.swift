// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import CLinux
package import Logging
internal import Synchronization

/// Routes the messages of one source or sink to its logger, as long as the route exists.
///
/// FFmpeg's log callback receives the object that logs, but most objects do not refer to their source or sink. They log
/// on the thread that calls FFmpeg, so the thread is marked during the call. FFmpeg's own threads have no mark; the
/// objects that log there, decoders and filters, carry the route's number in their `opaque` field.
package final class LogRoute: Sendable {
    private struct Routes {
        var loggers: [UInt: Logger] = [:]
        /// The number of the next route; 0 means no route.
        var next: UInt = 1
    }

    /// The routes by number rather than pointer: a message that arrives after the end of its route finds nothing.
    private static let routes = Mutex(Routes())

    private let number: UInt

    /// Makes a route; `nil` without a logger.
    package init?(_ logger: Logger?) {
        guard let logger else { return nil }
        number = Self.routes.withLock { routes in
            defer { routes.next += 1 }
            routes.loggers[routes.next] = logger
            return routes.next
        }
    }

    deinit { Self.routes.withLock { _ = $0.loggers.removeValue(forKey: number) } }

    /// The value for the `opaque` field of an `AVCodecContext` or `AVFilterGraph`.
    package var mark: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: number) }

    /// Marks this thread until ``leave(_:)`` is called with the returned value.
    package static func enter(_ route: LogRoute?) -> UInt { UInt(linux_mark_thread(route?.number ?? 0)) }

    package static func leave(_ previous: UInt) { _ = linux_mark_thread(previous) }

    /// Returns the logger for a message of an object; `nil` if it belongs to no route.
    static func logger(for object: UnsafeMutableRawPointer?) -> Logger? {
        var number = UInt(linux_thread_mark())
        if number == 0, let object { number = mark(of: object) }
        return number == 0 ? nil : routes.withLock { $0.loggers[number] }
    }

    private static func mark(of object: UnsafeMutableRawPointer) -> UInt {
        guard let type = MediaLog.logClass(of: object) else { return 0 }
        if type == avcodec_get_class() {
            return UInt(bitPattern: object.assumingMemoryBound(to: AVCodecContext.self).pointee.opaque)
        }
        // libavfilter is loaded on demand, so its class is identified by name.
        guard let name = type.pointee.class_name, String(cString: name) == "AVFilter" else { return 0 }
        let graph = object.assumingMemoryBound(to: AVFilterContext.self).pointee.graph
        return UInt(bitPattern: graph?.pointee.opaque)
    }
}

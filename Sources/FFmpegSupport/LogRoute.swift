// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import CLinux
package import Logging
internal import Synchronization

/// Routes the messages of one source, sink or decoder to its logger, as long as the route exists.
///
/// FFmpeg's log callback receives the object that logs, but most objects do not refer to their source or sink. They log
/// on the thread that calls FFmpeg, so the thread is marked during the call. FFmpeg's own threads have no mark; the
/// objects that log there, decoders and filters, carry the route's number in their `opaque` field.
///
/// A mark can carry a tag besides the number of the route, for example the number of the packet that is decoded.
/// libavcodec copies the `opaque` field to each of its threads together with a packet, so the tag of a message is that of
/// the packet that the message is about, whichever thread decodes it.
package final class LogRoute: Sendable {
    /// Receives an error message, and the tag of the mark under which it was logged.
    package typealias ErrorHandler = @Sendable (_ tag: UInt32, _ message: String) -> Void

    /// The receivers of a route's messages.
    struct Destination {
        let logger: Logger?
        let onError: ErrorHandler?
    }

    private struct Routes {
        var destinations: [UInt32: Destination] = [:]
        /// The number of the next route; 0 means no route.
        var next: UInt32 = 1
    }

    /// The routes by number rather than pointer: a message that arrives after the end of its route finds nothing.
    private static let routes = Mutex(Routes())

    private let number: UInt32

    /// Makes a route; `nil` without a logger.
    package convenience init?(_ logger: Logger?) {
        guard let logger else { return nil }
        self.init(Destination(logger: logger, onError: nil))
    }

    /// Makes a route that also passes error messages to a closure.
    ///
    /// - Parameters:
    ///   - logger: Receives all messages; `nil` leaves them to ``MediaLog/logger``.
    ///   - onError: Called on the thread that logs, also on threads of libavcodec.
    package convenience init(_ logger: Logger?, onError: @escaping ErrorHandler) {
        self.init(Destination(logger: logger, onError: onError))
    }

    private init(_ destination: Destination) {
        number = Self.routes.withLock { routes in
            defer { routes.next = routes.next == .max ? 1 : routes.next + 1 }
            routes.destinations[routes.next] = destination
            return routes.next
        }
    }

    deinit { Self.routes.withLock { _ = $0.destinations.removeValue(forKey: number) } }

    /// The value for the `opaque` field of an `AVCodecContext` or `AVFilterGraph`.
    package var mark: UnsafeMutableRawPointer? { mark(tag: 0) }

    /// Returns the value for the `opaque` field of an `AVCodecContext`, with a tag for messages about the next packet.
    package func mark(tag: UInt32) -> UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: bits(tag: tag)) }

    private func bits(tag: UInt32) -> UInt { UInt(tag) << 32 | UInt(number) }

    /// Marks this thread until ``leave(_:)`` is called with the returned value.
    package static func enter(_ route: LogRoute?, tag: UInt32 = 0) -> UInt {
        UInt(linux_mark_thread(route?.bits(tag: tag) ?? 0))
    }

    package static func leave(_ previous: UInt) { _ = linux_mark_thread(previous) }

    /// Returns the destination and the tag for a message of an object; `nil` if it belongs to no route.
    static func destination(for object: UnsafeMutableRawPointer?) -> (Destination, tag: UInt32)? {
        var mark = UInt(linux_thread_mark())
        if mark == 0, let object { mark = Self.mark(of: object) }
        let number = UInt32(truncatingIfNeeded: mark)
        guard number != 0, let destination = routes.withLock({ $0.destinations[number] }) else { return nil }
        return (destination, UInt32(truncatingIfNeeded: mark >> 32))
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

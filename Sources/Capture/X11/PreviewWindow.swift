// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
public import MediaTypes
internal import PixelConversion
internal import Synchronization

/// A window of X11 that shows pictures while they are captured.
///
/// It never holds up who captures: it takes a picture when it has shown the last one, at most 15 times per second, and gives it
/// back as soon as it is converted. The user can close the window, which ends nothing else.
public final class PreviewWindow: Sendable {
    private let next: PreviewPicture
    private let stop: StopSignal

    /// Opens the display. The window appears with the first picture.
    ///
    /// - Parameters:
    ///   - title: The title of the window.
    ///   - display: The name of the display, as `DISPLAY` has it; `nil` for that of `DISPLAY`.
    ///   - onFailure: Called at most once, on a thread of the window, if an error ends the preview.
    /// - Throws: `unavailable` if there is no such display or it refuses this program, `invalidArgument` for a wrong
    ///   name, `outOfMemory`.
    public init(
        title: String,
        display: String? = nil,
        onFailure: @escaping @Sendable (MediaError) -> Void = { _ in }
    ) throws(MediaError) {
        stop = try StopSignal()
        next = try PreviewPicture()
        // The thread connects by itself; this is for the error.
        _ = try X11Display.survey(display, stop: stop)
        try PlainThread.start(name: "vt-preview") { [stop, next] in
            do throws(MediaError) {
                try Self.run(title, display, next, stop)
            } catch {
                if error.code != .cancelled { onFailure(error) }
            }
            next.close()
        }
    }

    deinit { stop.stop() }

    /// Shows a picture, unless the window still shows the last one. Returns at once; safe on any thread.
    ///
    /// - Parameter picture: A picture that the CPU can read.
    public func show(_ picture: PixelBuffer) { next.offer(picture) }

    /// The least time between two pictures, in milliseconds.
    private static let period: Int32 = 66

    private static func run(
        _ title: String,
        _ display: String?,
        _ next: PreviewPicture,
        _ stop: StopSignal
    ) throws(MediaError) {
        let connection = try X11Connection.open(display, stop: stop)
        var canvas: PreviewCanvas?
        while true {
            if let canvas, try canvas.isClosed() { return }
            let events = [(xcb_get_file_descriptor(connection.raw), Int16(POLLIN)), (next.descriptor, Int16(POLLIN))]
            _ = try stop.wait(for: events, until: nil)
            guard let picture = next.take() else { continue }
            if canvas == nil { canvas = try PreviewCanvas(connection, title: title, like: picture) }
            try canvas?.draw(picture)
            try stop.wait(for: [], until: period)
            next.want()
        }
    }
}

/// The picture that the window shows next.
private final class PreviewPicture: Sendable {
    private enum State {
        case wanted
        case there(PixelBuffer)
        case unwanted
        case closed
    }

    /// Readable while there is a picture. It belongs to the receiver.
    let descriptor: Int32
    private let state = Mutex(State.wanted)

    init() throws(MediaError) {
        descriptor = xcb_shim_event()
        if descriptor < 0 {
            throw MediaError(.outOfMemory, "no descriptor for an event", call: "eventfd", status: Int(errno))
        }
    }

    deinit { Glibc.close(descriptor) }

    func offer(_ picture: PixelBuffer) {
        let isTaken = state.withLock { state in
            guard case .wanted = state else { return false }
            state = .there(picture)
            return true
        }
        if isTaken { xcb_shim_set_event(descriptor) }
    }

    /// The picture, if there is one; no other is wanted for the time being.
    func take() -> PixelBuffer? {
        state.withLock { state in
            guard case .there(let picture) = state else { return nil }
            state = .unwanted
            xcb_shim_reset_event(descriptor)
            return picture
        }
    }

    func want() { state.withLock { if case .unwanted = $0 { $0 = .wanted } } }

    func close() { state.withLock { $0 = .closed } }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
public import MediaTypes

/// The screen of an X11 display, a monitor, a part of the screen, or a window.
///
/// The pictures are BGRA of sRGB in shared memory, into which the display server writes (MIT-SHM): this process copies
/// nothing. Every slot of the frame rate has a picture; slots that the reader or the server misses are counted in
/// ``CapturedPicture/lostBefore``. If the server has drawn nothing since the previous picture (DAMAGE), the picture
/// shares its memory, and the server copies nothing either; if it has, the server copies the rows around it. Once a
/// second everything is copied, as some drivers draw without telling.
///
/// A window is captured from memory of its own (Composite), wherever it is and whatever covers it. Up to 8 pictures
/// with different content can be in use; a reader that holds more makes ``read()`` wait. Opening waits for the server
/// without regard to the stop signal while it connects (`xcb_connect`); no other wait outlasts the signal.
///
/// The error of a window that is closed or not shown, of a monitor that is gone, and of a server that has ended is
/// `unavailable`, and final for this device.
public final class X11Screen: PictureDevice {
    /// The size of the pictures, and the frame rate that was asked for. It changes with the size of the screen, the
    /// monitor or the window.
    public private(set) var stream: PictureStream

    /// Whether the server writes into the memory of the pictures. If not, as on another machine, they are copied.
    package private(set) var usesSharedMemory = true
    /// The number of rows that the server has copied, for all pictures.
    package private(set) var copiedRows = 0
    /// The time after which everything is asked for and copied, whatever the server has told, in nanoseconds.
    package var reviewPeriod: Int64 = 1_000_000_000

    private let request: Request
    private let stop: StopSignal
    private let connection: X11Connection
    private let timer: X11Timer
    private var schedule: X11Schedule
    /// The window that is watched.
    private let window: UInt32
    /// The `DAMAGE` of that window, if the server has the extension.
    private let damage: UInt32?
    private var source: X11Source
    private var memory: X11Memory
    /// The latest picture with new content, and the cursor in it.
    private var latest: (picture: PixelBuffer, cursor: X11Cursor.Placement?)?
    private var cursor: X11Cursor?
    private var failure: MediaError?
    private var lastTime: Int64 = 0
    private var lastReview: Int64

    /// Whether the server has drawn in the pictures' area since the latest picture.
    private var isChanged = true
    /// Whether the server has to begin a new box around what it draws.
    private var needsNewBox = false
    /// Whether the source may have changed.
    private var needsReview = false
    /// Whether the cursor may have another shape.
    private var needsShape: Bool

    /// Opens a display and finds what to capture.
    ///
    /// - Parameters:
    ///   - request: What is captured, and how often.
    ///   - stop: Ends the waits for the server and those of ``read()``.
    /// - Throws: `unavailable` if there is no display server, if it refuses this program, or if it has no such monitor
    ///   or window; `invalidArgument` for a wrong name of the display, a frame rate outside 1...240, a region outside
    ///   the screen or a title that several windows have; `unsupported` for other pixels than 32 bits of blue, green
    ///   and red, or a server that lacks an extension; `cancelled` after the signal.
    public init(_ request: Request, stop: StopSignal) throws(MediaError) {
        try request.validate()
        let connection = try X11Connection.open(request.display, stop: stop)
        if request.drawsCursor, !connection.extensions.hasFixes {
            throw MediaError(
                .unsupported,
                "the display server does not tell the shape of the cursor: it lacks the extension XFixes",
                given: "pictures with the cursor",
                allowed: "pictures without the cursor"
            )
        }
        let window = try connection.window(for: request.area)
        damage = try connection.watch(window, withCursor: request.drawsCursor)
        let source = try connection.source(of: request.area, watching: window)
        memory = try X11Memory(source, connection, stop: stop)
        timer = try X11Timer()
        schedule = X11Schedule(rate: request.frameRate)
        stream = Self.stream(source, request)
        needsShape = request.drawsCursor
        lastReview = Self.now
        (self.request, self.stop, self.connection) = (request, stop, connection)
        (self.window, self.source) = (window, source)
    }

    /// Waits for the next slot of the frame rate and takes a picture. Its time is the middle of the request and the
    /// reply of the server.
    ///
    /// - Throws: `cancelled` after the stop signal; `unavailable` if the display server, the monitor or the window is
    ///   gone, or the window is not shown; `inputOutput` if the server refuses a request.
    public func read() throws(MediaError) -> CapturedPicture {
        if let failure { throw failure }
        do throws(MediaError) {
            try timer.wait(until: schedule.due(at: Self.now), stop: stop)
            return try next()
        } catch {
            if error.code == .unavailable { failure = error }
            throw error
        }
    }

    private static func stream(_ source: X11Source, _ request: Request) -> PictureStream {
        PictureStream(
            width: source.area.width,
            height: source.area.height,
            frameRate: request.frameRate,
            format: "BGRA"
        )
    }

    private static var now: Int64 { MonotonicClock.now.value }
}

// MARK: - Pictures

extension X11Screen {
    /// The number of times that a picture is tried while the source changes.
    private static let attempts = 4

    private func next() throws(MediaError) -> CapturedPicture {
        let begin = Self.now
        if begin - lastReview >= reviewPeriod {
            lastReview = begin
            needsReview = true
            needsShape = request.drawsCursor
        }
        try follow()
        if !isChanged, let latest, try isCursorUnchanged(latest.cursor) {
            let end = Self.now
            return captured(latest.picture, lost: schedule.take(at: begin), between: begin, end)
        }
        for _ in 1..<Self.attempts {
            if let picture = try capture().picture { return picture }
            needsReview = true
            try follow()
        }
        let last = try capture()
        if let picture = last.picture { return picture }
        throw X11Refusal.request("GetImage", last.code)
    }

    /// Asks for the cursor, and for what was drawn meanwhile.
    private func isCursorUnchanged(_ previous: X11Cursor.Placement?) throws(MediaError) -> Bool {
        try updateShape()
        beginNewBox()
        let pointer = queryPointer()
        try connection.send()
        let placement = try placement(pointer)
        try follow(isReplied: pointer != nil)
        return !isChanged && !needsShape && placement == previous
    }

    /// Has the server copy what has changed, and draws the cursor.
    ///
    /// - Returns: The picture, or the code of the error with which the server refuses to copy.
    private func capture() throws(MediaError) -> (picture: CapturedPicture?, code: UInt8) {
        latest = nil
        let (memory, source) = (memory, source)
        let index = try memory.take()
        do throws(MediaError) {
            try updateShape()
            let (rows, segment) = (memory.stale.rows(index), memory.segment(index))
            let begin = Self.now
            beginNewBox()
            let pointer = queryPointer()
            let images = rows.map { ($0, source.request($0, into: segment.identifier, connection)) }
            try connection.send()
            var refusal: UInt8?
            for (rows, image) in images {
                refusal = try source.receive(image, rows, segment, connection) ?? refusal
            }
            let placement = try placement(pointer)
            if let refusal {
                memory.giveBack(index)
                return (nil, refusal)
            }
            let end = Self.now
            if let cursor, let placement {
                cursor.draw(at: placement.area, into: segment.base, source)
            }
            memory.refresh(index, covered: placement?.rows(of: source.area.height) ?? 0..<0)
            let picture = try memory.picture(index)
            latest = (picture, placement)
            isChanged = false
            copiedRows += rows.reduce(0) { $0 + $1.count }
            usesSharedMemory = segment.identifier != nil
            return (captured(picture, lost: schedule.take(at: begin), between: begin, end), 0)
        } catch {
            memory.giveBack(index)
            throw error
        }
    }

    private func captured(_ picture: PixelBuffer, lost: Int, between begin: Int64, _ end: Int64) -> CapturedPicture {
        lastTime = max(begin + (end - begin) / 2, lastTime + 1)
        let shared = PixelBuffer(sharing: picture, pixelAspectRatio: .one)
        return CapturedPicture(
            shared,
            time: MediaTime(value: lastTime, timescale: 1_000_000_000),
            lostBefore: lost
        )
    }
}

// MARK: - What the server tells

extension X11Screen {
    /// Acts on what the server has told.
    private func follow(isReplied: Bool = false) throws(MediaError) {
        for event in try connection.events(isReplied: isReplied) {
            switch event {
            case .damage(let area):
                needsNewBox = true
                guard let rows = source.rows(of: area) else { continue }
                memory.change(rows)
                isChanged = true
            case .cursor: needsShape = request.drawsCursor
            case .monitors: needsReview = true
            case .structure(let changed) where changed == window: needsReview = true
            case .destroyed(let closed) where closed == window: throw X11Connection.noWindow(window)
            case .structure, .destroyed: break
            }
        }
        if damage == nil { review() }
        guard needsReview else { return }
        needsReview = false
        try findSource()
        review()
    }

    /// Everything has to be copied.
    private func review() {
        memory.change()
        isChanged = true
    }

    private func findSource() throws(MediaError) {
        let found: X11Source
        do throws(MediaError) {
            found = try connection.source(of: request.area, watching: window)
        } catch {
            // What was a wrong request at first is a screen that has changed now.
            guard error.code == .invalidArgument else { throw error }
            var error = error
            error.code = .unavailable
            throw error
        }
        if source.drawable != connection.root { xcb_free_pixmap(connection.raw, source.drawable) }
        source = found
        guard !memory.fits(found) else { return }
        latest = nil
        memory.detach()
        memory = try X11Memory(found, connection, stop: stop)
        stream = Self.stream(found, request)
    }

    private func beginNewBox() {
        guard needsNewBox, let damage else { return }
        needsNewBox = false
        xcb_damage_subtract(connection.raw, damage, UInt32(XCB_NONE), UInt32(XCB_NONE))
    }

    private func updateShape() throws(MediaError) {
        guard needsShape else { return }
        needsShape = false
        cursor = try connection.cursor()
    }

    private func queryPointer() -> UInt32? {
        cursor == nil ? nil : xcb_query_pointer(connection.raw, window).sequence
    }

    private func placement(_ query: UInt32?) throws(MediaError) -> X11Cursor.Placement? {
        guard let query else { return nil }
        let (cursor, area) = (cursor, source.area)
        return try connection.reply(
            query,
            of: "QueryPointer",
            refusal: { [window] _ in X11Connection.noWindow(window) }
        ) { (reply: UnsafePointer<xcb_query_pointer_reply_t>) in
            guard reply.pointee.same_screen != 0 else { return nil }
            return cursor?.placement(
                x: Int(reply.pointee.win_x) - area.x,
                y: Int(reply.pointee.win_y) - area.y,
                width: area.width,
                height: area.height
            )
        }
    }
}

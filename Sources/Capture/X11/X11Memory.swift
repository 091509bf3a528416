// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import CXCB
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// Which rows of each segment differ from what the server shows. A pure value.
struct X11StaleRows {
    private struct Segment {
        /// The rows in which the server has drawn.
        var changed: Range<Int>
        /// The rows over which the cursor was drawn.
        var covered: Range<Int>
    }

    private var segments: [Segment] = []
    private let height: Int

    init(height: Int) { self.height = height }

    /// Adds a segment that has no content yet.
    mutating func add() { segments.append(Segment(changed: 0..<height, covered: 0..<0)) }

    /// The server has drawn in some rows.
    mutating func change(_ rows: Range<Int>) {
        for index in segments.indices { segments[index].changed = Self.span(segments[index].changed, rows) }
    }

    /// A segment has the rows of the server again, with the cursor over some of them.
    mutating func refresh(_ index: Int, covered: Range<Int>) {
        segments[index] = Segment(changed: 0..<0, covered: covered)
    }

    /// The rows to copy into a segment: up to two ranges, which do not overlap.
    func rows(_ index: Int) -> [Range<Int>] {
        let (changed, covered) = (segments[index].changed, segments[index].covered)
        let areApart = changed.upperBound < covered.lowerBound || covered.upperBound < changed.lowerBound
        let rows = areApart ? [changed, covered] : [Self.span(changed, covered)]
        return rows.filter { !$0.isEmpty }
    }

    /// The number of rows to copy into a segment.
    func count(_ index: Int) -> Int { rows(index).reduce(0) { $0 + $1.count } }

    private static func span(_ one: Range<Int>, _ other: Range<Int>) -> Range<Int> {
        if one.isEmpty { return other }
        return other.isEmpty ? one : min(one.lowerBound, other.lowerBound)..<max(one.upperBound, other.upperBound)
    }
}

/// Memory for one picture: a memfd that this process and, if it can, the display server have mapped.
final class X11Segment: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    let byteCount: Int
    let descriptor: Int32

    init(byteCount: Int) throws(MediaError) {
        func failure(_ call: String) -> MediaError {
            MediaError(
                .outOfMemory,
                "no shared memory for a picture of the screen",
                given: "\(byteCount) bytes",
                call: call,
                status: Int(errno)
            )
        }
        let descriptor = linux_memfd_create("vatoolbox-screen")
        guard descriptor >= 0 else { throw failure("memfd_create") }
        guard ftruncate(descriptor, byteCount) == 0 else {
            let error = failure("ftruncate")
            close(descriptor)
            throw error
        }
        guard let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else {
            let error = failure("mmap")
            close(descriptor)
            throw error
        }
        (self.base, self.byteCount, self.descriptor) = (base, byteCount, descriptor)
    }

    deinit {
        munmap(base, byteCount)
        close(descriptor)
    }
}

/// Which segments nobody uses, for the thread of the device and those that release pictures.
final class X11SegmentRing: Sendable {
    private struct State {
        var free: Set<Int> = []
        var isAwaited = false
    }

    private let state = Mutex(State())
    /// An `eventfd` that is readable after a segment has returned to a waiting device.
    private let wake: Int32

    init() throws(MediaError) {
        wake = xcb_shim_event()
        guard wake < 0 else { return }
        throw MediaError(.outOfMemory, "no descriptor for an event", call: "eventfd", status: Int(errno))
    }

    deinit { close(wake) }

    /// Takes the free segment with the fewest stale rows; `nil` if none is free.
    func take(_ stale: X11StaleRows) -> Int? {
        state.withLock { state in
            let best = state.free.min { (stale.count($0), $0) < (stale.count($1), $1) }
            if let best { state.free.remove(best) }
            state.isAwaited = best == nil
            return best
        }
    }

    /// Waits until a segment returns, after ``take(_:)`` has found none.
    func wait(_ stop: StopSignal) throws(MediaError) {
        try stop.wait(for: [(wake, Int16(POLLIN))], until: nil)
        xcb_shim_reset_event(wake)
    }

    /// Returns a segment, on any thread.
    func giveBack(_ index: Int) {
        let isAwaited = state.withLock { state in
            state.free.insert(index)
            defer { state.isAwaited = false }
            return state.isAwaited
        }
        if isAwaited { xcb_shim_set_event(wake) }
    }
}

/// The memory for the pictures of one size, for one thread.
final class X11Memory {
    /// The highest number of segments, of which readers can hold all.
    static let limit = 8

    private(set) var stale: X11StaleRows
    private let description: PixelBuffer.Description
    private let bytesPerRow: Int
    private let connection: X11Connection
    private let stop: StopSignal
    private let ring: X11SegmentRing
    /// The segments, each with the server's name for it if the server has mapped it.
    private var segments: [(memory: X11Segment, identifier: UInt32?)] = []

    init(_ source: X11Source, _ connection: X11Connection, stop: StopSignal) throws(MediaError) {
        (self.connection, self.stop, bytesPerRow) = (connection, stop, source.bytesPerRow)
        description = PixelBuffer.Description(
            format: .bgra,
            width: source.area.width,
            height: source.area.height,
            color: .sRGB
        )
        stale = X11StaleRows(height: source.area.height)
        ring = try X11SegmentRing()
    }

    /// Whether these are pictures of a source's size.
    func fits(_ source: X11Source) -> Bool {
        (source.area.width, source.area.height, source.bytesPerRow)
            == (description.width, description.height, bytesPerRow)
    }

    /// The server has drawn in some rows; by default, everywhere.
    func change(_ rows: Range<Int>? = nil) { stale.change(rows ?? 0..<description.height) }

    /// A segment has all rows as the server shows them, with the cursor over some.
    func refresh(_ index: Int, covered rows: Range<Int>) { stale.refresh(index, covered: rows) }

    /// The server's name for a segment, `nil` if the server cannot write into it; and the address of its pixels.
    func segment(_ index: Int) -> (identifier: UInt32?, base: UnsafeMutableRawPointer) {
        (segments[index].identifier, segments[index].memory.base)
    }

    /// Takes a segment that nobody uses. Waits for one if ``limit`` are in use.
    func take() throws(MediaError) -> Int {
        while true {
            if let index = ring.take(stale) { return index }
            if segments.count < Self.limit {
                segments.append(try makeSegment())
                stale.add()
                return segments.count - 1
            }
            try ring.wait(stop)
        }
    }

    /// Returns a segment of which no picture was made.
    func giveBack(_ index: Int) { ring.giveBack(index) }

    /// Makes a picture of a segment, which returns when the picture is released.
    func picture(_ index: Int) throws(MediaError) -> PixelBuffer {
        let memory = segments[index].memory
        let shared = SharedMemory(
            fileDescriptor: memory.descriptor,
            byteCount: memory.byteCount,
            planes: [PlaneLayout(offset: 0, bytesPerRow: bytesPerRow)]
        )
        return try PixelBuffer(description, sharedMemory: shared, at: memory.base) { [ring] in
            withExtendedLifetime(memory) { ring.giveBack(index) }
        }
    }

    /// Has the server forget the segments. Pictures that are in use keep their memory.
    func detach() {
        for segment in segments {
            if let identifier = segment.identifier { xcb_shm_detach(connection.raw, identifier) }
        }
        segments = []
        stale = X11StaleRows(height: description.height)
    }

    private func makeSegment() throws(MediaError) -> (X11Segment, UInt32?) {
        let segment = try X11Segment(byteCount: bytesPerRow * description.height)
        guard connection.isLocal, connection.extensions.attachesDescriptors else { return (segment, nil) }
        // XCB closes the descriptor that it sends.
        let sent = fcntl(segment.descriptor, F_DUPFD_CLOEXEC, 0)
        guard sent >= 0 else {
            throw MediaError(
                .outOfMemory,
                "no descriptor for shared memory",
                call: "fcntl(F_DUPFD_CLOEXEC)",
                status: Int(errno)
            )
        }
        let identifier = xcb_generate_id(connection.raw)
        let cookie = xcb_shm_attach_fd_checked(connection.raw, identifier, sent, 0)
        // A server behind a proxy gets no descriptor, one of another machine's or user's kind cannot map it.
        let isAttached = try connection.perform(cookie.sequence)[0] == nil
        // Both mappings exist, so that nobody else has to write.
        guard linux_seal_for_readers(segment.descriptor) == 0 else {
            throw MediaError(
                .inputOutput,
                "shared memory cannot be sealed",
                call: "fcntl(F_ADD_SEALS)",
                status: Int(errno)
            )
        }
        return (segment, isAttached ? identifier : nil)
    }
}

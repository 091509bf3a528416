// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
public import MediaTypes

/// A camera or a screen that a PipeWire server offers.
///
/// The pictures are in DMA-BUFs if ``Request/modifiers`` names one that the source has, and in shared memory otherwise,
/// also after ``avoidDMABufs()``. They return to the source when their buffers are released, on any thread, with the next call of ``read()``. Memory
/// of the source is used without a copy if the source cannot shorten it (a sealed memory file, or memory of a device),
/// and as long as two more buffers remain for the source, of DMA-BUFs one. Otherwise, and in memory that the server has made, the
/// pictures are copies. A source of tiled DMA-BUFs whose buffers are all in use waits, and loses pictures.
///
/// The valid part of the pictures is respected (`SPA_META_VideoCrop`). The times are those of the source if it states
/// them on `CLOCK_MONOTONIC`, and otherwise those of the arrival. A screen that does not change delivers nothing.
///
/// One thread opens, reads and releases a stream; the library of PipeWire has one more thread meanwhile. Pictures stay
/// valid after that, but a source that allocates its own buffers misses those of pictures that outlast their stream, until
/// the session manager suspends it: release them first where a source is opened again and again.
public final class PipeWireStream: PictureDevice {
    /// The pictures at present.
    public private(set) var stream: PictureStream
    /// The node that is captured, as it was found.
    public let node: PipeWireNode

    /// Whether the latest time was stated by the source.
    package var usesSourceTime: Bool { timing.usesSourceTime }
    /// The number of pictures that were copied.
    package private(set) var copies = 0

    private let stop: StopSignal
    private let session: PortalSession?
    private let returns: PipeWireReturns
    private let buffers: PipeWireBuffers
    private let connection: PipeWireConnection
    private var timing = PipeWireTiming()
    private var pool: PixelBufferPool?
    private var failure: MediaError?
    private var request: Request
    /// Whether the source offers memory that is not in DMA-BUFs, as far as it says.
    private let hasOtherMemory: Bool

    /// Opens a source of a server, and waits until it has agreed on a format.
    ///
    /// - Parameters:
    ///   - request: What is captured.
    ///   - stop: Ends all waits.
    /// - Throws: `unavailable` if there is no server or no such node, or if the node does not start; `unsupported` if
    ///   it has no format that is supported; `invalidArgument` for a wrong request; `deadlineExceeded` if the server
    ///   does not answer; `creationFailed` if PipeWire's client library does not start; `outOfMemory`; `cancelled`
    ///   after the stop signal.
    public convenience init(_ request: Request = Request(), stop: StopSignal) throws(MediaError) {
        try request.validate()
        try self.init(request, PipeWireConnection(.socket(request.remote)), session: nil, stop: stop)
    }

    /// Opens a source of a connection.
    ///
    /// - Parameter session: What the desktop portal allows, as long as it lasts.
    init(
        _ request: Request,
        _ connection: PipeWireConnection,
        session: PortalSession?,
        stop: StopSignal
    ) throws(MediaError) {
        try request.validate()
        (self.stop, self.connection, self.session, self.request) = (stop, connection, session, request)
        try connection.synchronise(stop)
        node = try Self.find(request.target, Array(connection.nodes.values))
        let offered = try connection.formats(of: node.id, stop)
        try offered.check(request, node)
        hasOtherMemory = offered.hasOtherMemory
        let returns = try PipeWireReturns()
        let buffers = try PipeWireBuffers(request, node, connection, returns)
        (self.returns, self.buffers) = (returns, buffers)
        stream = PictureStream(width: 1, height: 1, format: "")
        let end = MonotonicClock.now.value + request.startLimit * 1_000_000
        while true {
            if let format = buffers.format {
                stream = Self.stream(format, width: format.width, height: format.height)
                return
            }
            guard try wait(until: end) else { throw PipeWireFailure.notLinked(node) }
        }
    }

    /// Waits for the next picture.
    ///
    /// - Throws: `unavailable` if the node or the server is gone, or the session of the desktop portal; `cancelled`
    ///   after the stop signal, or if the user ends the capture; `unsupported` if the source changes to a format, a
    ///   rotation or a kind of memory that is not supported; `malformedData` if its pictures do not fit into their
    ///   memory; `inputOutput`; `outOfMemory`. All of these are final for this stream.
    public func read() throws(MediaError) -> CapturedPicture {
        if let failure { throw failure }
        do throws(MediaError) {
            while true {
                try connection.iterate()
                try check()
                if let picture = try next() { return picture }
                _ = try wait(until: nil)
            }
        } catch {
            failure = error
            throw error
        }
    }

    /// Asks the source for shared memory instead of DMA-BUFs, once. A source that has nothing else goes on with them.
    public func avoidDMABufs() throws(MediaError) {
        guard !request.modifiers.isEmpty, hasOtherMemory else { return }
        request.modifiers = []
        try buffers.offer(request)
    }

    private static func find(_ target: Request.Target, _ nodes: [PipeWireNode]) throws(MediaError) -> PipeWireNode {
        let found =
            switch target {
            case .preferred: PipeWireNode.preferred(nodes).first
            case .node(let id): nodes.first { $0.id == id }
            case .named(let name): nodes.first { $0.name == name }
            }
        guard let found else { throw PipeWireFailure.noNode(target, among: nodes) }
        return found
    }

    private static func stream(_ format: PipeWireFormat, width: Int, height: Int) -> PictureStream {
        PictureStream(width: width, height: height, frameRate: format.frameRate, format: format.name)
    }

    // MARK: - Waiting

    /// Waits until something has happened.
    ///
    /// - Returns: Whether the end was not reached yet.
    private func wait(until end: Int64?) throws(MediaError) -> Bool {
        var others = [(descriptor: returns.descriptor, events: Int16(POLLIN))]
        if let session { others.append(session.descriptor) }
        let isInTime = try connection.wait(stop, others: others, until: end)
        try check()
        return isInTime
    }

    /// Throws what has ended the capture.
    private func check() throws(MediaError) {
        if let session { try session.check() }
        guard connection.nodes[node.id] != nil else { throw PipeWireFailure.nodeGone(node) }
        if let failure = buffers.failure { throw failure }
    }
}

// MARK: - Pictures

extension PipeWireStream {
    /// Returns the next picture; `nil` if there is none.
    private func next() throws(MediaError) -> CapturedPicture? {
        while let taken = buffers.take() {
            timing.skip(taken.dropped)
            let contents = PipeWireContents(taken.buffer)
            guard contents.isUsable else {
                if contents.isPicture { timing.skip() }
                buffers.giveBack(taken.number)
                continue
            }
            let picture: PixelBuffer
            let copiesBefore = copies
            do throws(MediaError) {
                picture = try self.picture(taken.buffer, taken.number, contents)
            } catch {
                buffers.giveBack(taken.number)
                throw error
            }
            let time = timing.time(contents.time, arrival: MonotonicClock.now.value)
            stream = Self.stream(taken.buffer.format, width: picture.width, height: picture.height)
            return CapturedPicture(
                picture,
                time: MediaTime(value: time, timescale: 1_000_000_000),
                lostBefore: timing.lost(before: contents.sequence),
                isCopy: copies > copiesBefore
            )
        }
        return nil
    }

    /// Makes a picture of a buffer, which is held, or copied and given back.
    private func picture(
        _ buffer: PipeWireBuffers.Buffer,
        _ number: Int,
        _ contents: PipeWireContents
    ) throws(MediaError) -> PixelBuffer {
        let layout = try contents.layout()
        let description = PixelBuffer.Description(
            format: buffer.format.format,
            width: layout.width,
            height: layout.height,
            color: buffer.format.color,
            pixelAspectRatio: buffer.format.pixelAspectRatio
        )
        let modifier = buffer.format.modifier ?? 0
        let isKept =
            switch buffer.memory.kind {
            // The CPU reads memory of a GPU slowly, so that less is kept for the source.
            case .dmaBuf: buffers.hasSpare(1) || modifier != 0
            case .mapped: buffers.hasSpare(2)
            case .file, .borrowed: false
            }
        let blocks = try contents.contents.used()
        if isKept {
            let picture = try buffer.memory.picture(description, layout, blocks, modifier: modifier) { [returns] in
                returns.give(number)
            }
            buffers.hold(number)
            return picture
        }
        let original = try buffer.memory.picture(description, layout, blocks, modifier: modifier) {}
        let copy = try pool(for: description).make()
        try copy.withPlanes { (planes) throws(MediaError) in try original.copySamples(to: planes) }
        copies += 1
        buffers.giveBack(number)
        return copy
    }

    private func pool(for description: PixelBuffer.Description) throws(MediaError) -> PixelBufferPool {
        if let pool, pool.description == description { return pool }
        let pool = try PixelBufferPool(description)
        self.pool = pool
        return pool
    }
}

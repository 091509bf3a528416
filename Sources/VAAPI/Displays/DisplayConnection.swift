// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import RenderNodes
internal import Synchronization

/// The connection to a driver, shared by a display and everything that was made with it. Its last user ends it, so that
/// whatever libva has an id for is gone before `vaTerminate`, in whichever order a program lets go of things.
///
/// libva takes calls for one display from several threads.
final class DisplayConnection: Sendable {
    /// libva's own handle.
    nonisolated(unsafe) let handle: VADisplay

    private let relay: MessageRelay
    private let node: OpenRenderNode
    private let onStage: @Sendable (DisplayStage) -> Void
    private let hasEnded = Atomic(false)
    /// What the driver has turned out not to implement; the same for all its objects, hence asked once.
    private let lacking = Atomic<UInt8>(0)

    /// Ways of waiting, as bits of ``lacking``.
    private enum Wait {
        static let forBuffers: UInt8 = 1
        static let forBuffersWithLimit: UInt8 = 2
        static let forSurfacesWithLimit: UInt8 = 4
    }

    /// Takes over a handle, whether or not `vaInitialize` will succeed on it.
    init(
        handle: VADisplay,
        relay: MessageRelay,
        node: consuming OpenRenderNode,
        onStage: @escaping @Sendable (DisplayStage) -> Void
    ) {
        self.handle = handle
        self.relay = relay
        self.node = node
        self.onStage = onStage
    }

    deinit {
        if hasEnded.load(ordering: .relaxed) { return }
        report { () throws(VAError) in try end() }
    }

    /// The path of the node.
    var path: String { node.path }

    /// Ends the connection. A driver that fails to keeps its memory, and says nothing more.
    func end() throws(VAError) {
        hasEnded.store(true, ordering: .relaxed)
        onStage(.closing)
        do throws(VAError) {
            try check("vaTerminate", DriverTurn.take { vaTerminate(handle) })
        } catch {
            vaSetErrorCallback(handle, nil, nil)
            vaSetInfoCallback(handle, nil, nil)
            throw error
        }
    }

    /// Does what nobody is left to hear about, such as destroying something: a failure goes to the display's message
    /// handler, and what the driver did not destroy is lost.
    func report(_ work: () throws(VAError) -> Void) {
        do throws(VAError) { try work() } catch { relay.receive(.error, "\(error)") }
    }
}

// MARK: - Mapping

extension DisplayConnection {
    /// Maps a buffer for the time of a closure (`vaMapBuffer`, `vaUnmapBuffer`).
    func withMapping<Result>(
        of buffer: VABufferID,
        _ body: (UnsafeMutableRawPointer) -> Result
    ) throws(VAError) -> Result {
        let address = try map(buffer)
        let result = body(address)
        try unmap(buffer)
        return result
    }

    /// Maps a buffer, which then has to be unmapped.
    func map(_ buffer: VABufferID) throws(VAError) -> UnsafeMutableRawPointer {
        var address: UnsafeMutableRawPointer?
        try check("vaMapBuffer", vaMapBuffer(handle, buffer, &address))
        if let address { return address }
        report { () throws(VAError) in try unmap(buffer) }
        throw VAError(call: "vaMapBuffer", status: .init(rawValue: VA_STATUS_SUCCESS), text: "returned no address")
    }

    func unmap(_ buffer: VABufferID) throws(VAError) {
        try check("vaUnmapBuffer", vaUnmapBuffer(handle, buffer))
    }
}

// MARK: - Waiting

extension DisplayConnection {
    /// Waits for the picture that is coded into a buffer; by its input surface where the driver cannot wait for buffers.
    ///
    /// - Returns: Whether the picture is complete.
    func wait(
        forBuffer buffer: VABufferID,
        codedFrom surface: VASurfaceID,
        atMost timeout: Duration?
    ) throws(VAError) -> Bool {
        // radeonsi of Mesa 22.3 implements it for waits without limit only.
        let way = timeout == nil ? Wait.forBuffers : Wait.forBuffersWithLimit
        if !lacks(way) {
            let status = vaSyncBuffer(handle, buffer, Self.nanoseconds(timeout))
            if status != VA_STATUS_ERROR_UNIMPLEMENTED { return try isComplete("vaSyncBuffer", status) }
            lacking.bitwiseOr(way, ordering: .relaxed)
        }
        return try wait(forSurface: surface, atMost: timeout)
    }

    /// Waits for everything that reads from or writes to a surface.
    ///
    /// A driver without `vaSyncSurface2` knows no timeouts: the wait then lasts as long as the work.
    ///
    /// - Returns: Whether nothing uses the surface any more.
    func wait(forSurface surface: VASurfaceID, atMost timeout: Duration?) throws(VAError) -> Bool {
        if timeout != nil, !lacks(Wait.forSurfacesWithLimit) {
            let status = vaSyncSurface2(handle, surface, Self.nanoseconds(timeout))
            if status != VA_STATUS_ERROR_UNIMPLEMENTED { return try isComplete("vaSyncSurface2", status) }
            lacking.bitwiseOr(Wait.forSurfacesWithLimit, ordering: .relaxed)
        }
        try check("vaSyncSurface", vaSyncSurface(handle, surface))
        return true
    }

    private func lacks(_ way: UInt8) -> Bool { lacking.load(ordering: .relaxed) & way != 0 }

    private func isComplete(_ call: StaticString, _ status: VAStatus) throws(VAError) -> Bool {
        if status == VA_STATUS_ERROR_TIMEDOUT { return false }
        try check(call, status)
        return true
    }

    /// A timeout as libva takes it, from centuries on for ever. At least a nanosecond: with zero radeonsi's `vaSyncBuffer`
    /// says of complete pictures, too, that they are not.
    private static func nanoseconds(_ timeout: Duration?) -> UInt64 {
        guard let (seconds, attoseconds) = timeout?.components else { return UInt64(VA_TIMEOUT_INFINITE) }
        if seconds < 0 || attoseconds < 0 { return 1 }
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return overflow || carry ? UInt64(VA_TIMEOUT_INFINITE) : max(sum, 1)
    }
}

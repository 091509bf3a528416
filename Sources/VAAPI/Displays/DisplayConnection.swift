// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import RenderNodes
internal import Synchronization

/// The connection to a driver, shared by a display and all of its objects. The last user closes it, so that all libva
/// objects are destroyed before `vaTerminate`, in whichever order a program releases them.
///
/// libva accepts calls for one display from several threads.
final class DisplayConnection: Sendable {
    /// The libva handle.
    nonisolated(unsafe) let handle: VADisplay

    private let relay: MessageRelay
    private let node: OpenRenderNode
    private let onStage: @Sendable (DisplayStage) -> Void
    private let hasEnded = Atomic(false)
    /// The functions that the driver does not implement. They are the same for all its objects, so they are determined
    /// once.
    private let lacking = Atomic<UInt8>(0)

    /// The wait functions, as bits of ``lacking``.
    private enum Wait {
        static let forBuffers: UInt8 = 1
        static let forBuffersWithLimit: UInt8 = 2
        static let forSurfacesWithLimit: UInt8 = 4
    }

    /// Takes ownership of a handle, whether or not `vaInitialize` will succeed on it.
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

    /// The descriptor of the node, open as long as the connection.
    var descriptor: Int32 { node.descriptor }

    /// Closes the connection. If the driver fails to close, its memory is leaked, and it sends no more messages.
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

    /// Performs work whose failure no caller can handle, such as destroying an object. A failure is passed to the
    /// display's message handler, and an object that the driver did not destroy is leaked.
    func report(_ work: () throws(VAError) -> Void) {
        do throws(VAError) { try work() } catch { relay.receive(.error, "\(error)") }
    }
}

// MARK: - Mapping

extension DisplayConnection {
    /// Maps a buffer for the duration of a closure (`vaMapBuffer`, `vaUnmapBuffer`).
    func withMapping<Result>(
        of buffer: VABufferID,
        _ body: (UnsafeMutableRawPointer) -> Result
    ) throws(VAError) -> Result {
        let address = try map(buffer)
        let result = body(address)
        try unmap(buffer)
        return result
    }

    /// Maps a buffer. The caller must unmap it.
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
    /// Waits for the picture that is encoded into a buffer. If the driver cannot wait for buffers, waits for the input
    /// surface.
    ///
    /// - Returns: Whether the picture is complete.
    func wait(
        forBuffer buffer: VABufferID,
        codedFrom surface: VASurfaceID,
        atMost timeout: Duration?
    ) throws(VAError) -> Bool {
        // radeonsi of Mesa 22.3 implements it only for waits without a limit.
        let way = timeout == nil ? Wait.forBuffers : Wait.forBuffersWithLimit
        if !lacks(way) {
            let status = vaSyncBuffer(handle, buffer, Self.nanoseconds(timeout))
            if status != VA_STATUS_ERROR_UNIMPLEMENTED { return try isComplete("vaSyncBuffer", status) }
            lacking.bitwiseOr(way, ordering: .relaxed)
        }
        return try wait(forSurface: surface, atMost: timeout)
    }

    /// Waits until all reads and writes of a surface are complete.
    ///
    /// A driver without `vaSyncSurface2` has no timeout: the wait then lasts until the work is complete.
    ///
    /// - Returns: Whether the surface is idle.
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

    /// Converts a timeout for libva; centuries become an unlimited wait. It is at least a nanosecond: with zero,
    /// `vaSyncBuffer` of radeonsi reports even complete pictures as incomplete.
    private static func nanoseconds(_ timeout: Duration?) -> UInt64 {
        guard let (seconds, attoseconds) = timeout?.components else { return UInt64(VA_TIMEOUT_INFINITE) }
        if seconds < 0 || attoseconds < 0 { return 1 }
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return overflow || carry ? UInt64(VA_TIMEOUT_INFINITE) : max(sum, 1)
    }
}

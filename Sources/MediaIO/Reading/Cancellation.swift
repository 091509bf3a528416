// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes
internal import Synchronization

/// Ends blocking reads from another thread, and the waits of a ``MediaSink`` for somebody who reads its output: which ones,
/// its initializer says.
///
/// Give one to a ``MediaSource`` when it is made: opening a pipe blocks until somebody writes to it, and this is what
/// ends the wait. Once cancelled it stays so.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)

    /// Makes one that is not cancelled.
    public init() {}

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) }

    /// Ends what blocks now, and everything that would block later, with the error `cancelled`. Safe on any thread.
    public func cancel() { flag.store(true, ordering: .releasing) }

    /// Throws `cancelled` once ``cancel()`` was called.
    func check() throws(MediaError) {
        if isCancelled { throw Self.error }
    }

    static var error: MediaError { MediaError(.cancelled, "the reading was cancelled") }

    /// What libavformat's network protocols ask while they wait. The object must outlive the context that asks.
    var interruptCallback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { opaque in
                guard let opaque else { return 0 }
                return Unmanaged<Cancellation>.fromOpaque(opaque).takeUnretainedValue().isCancelled ? 1 : 0
            },
            opaque: Unmanaged.passUnretained(self).toOpaque()
        )
    }
}

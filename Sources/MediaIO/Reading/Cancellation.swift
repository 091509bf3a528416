// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import Synchronization

/// Ends blocking reads from another thread, and those waits of a ``MediaSink`` for a reader of its output that its
/// initializer lists.
///
/// Pass a cancellation to the initializer of a ``MediaSource``: opening a pipe blocks until it is opened for writing,
/// and only the cancellation ends this wait. A cancellation cannot be reset.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)

    /// Makes a cancellation that is not yet cancelled.
    public init() {}

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) }

    /// Ends all blocked calls, and all later calls that would block, with the error `cancelled`. Safe on any thread.
    public func cancel() { flag.store(true, ordering: .releasing) }

    /// Throws `cancelled` if ``cancel()`` was called.
    func check() throws(MediaError) {
        if isCancelled { throw Self.error }
    }

    static var error: MediaError { MediaError(.cancelled, "reading was cancelled") }

    /// The callback that libavformat's network protocols call while they wait. This object must outlive the context
    /// that uses it.
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

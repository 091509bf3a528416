// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
public import MediaTypes
import Synchronization

/// Copies the tracks of a file into another container, without decoding them. Each instance can run once.
///
/// **Payloads** stay as they are, except for the framing that the container requires: start codes or length prefixes of NAL
/// units, with access unit delimiters and repeated parameter sets; headers of AAC. **Times** are moved by one distance, and
/// rounded to the time unit of the container. Audio priming, edit lists, rotation, colour and HDR metadata, pixel aspect
/// ratio, chapters, languages, titles, dispositions and attached files are kept where the container stores them; everything
/// else is in ``RemuxReport/losses``.
///
/// A video or audio track that the container does not support is an error before a file is created. A raw H.264 or HEVC
/// stream holds one video track; the others are losses.
public final class Remuxer: Sendable {
    private let request: RemuxRequest
    private let worker = RemuxWorker()
    private let state = Mutex(State())
    private let cancellation = Cancellation()
    /// Ends the wait for a reader of the output.
    private let abandonment = Cancellation()

    private struct State {
        var hasStarted = false
        var progress = RemuxProgress()
    }

    /// What the worker asks and tells.
    struct Signals: Sendable {
        var isStopped: @Sendable () -> Bool
        var isCancelled: @Sendable () -> Bool
        var note: @Sendable (RemuxProgress) -> Void
    }

    /// Makes a remuxer.
    public init(_ request: RemuxRequest) { self.request = request }

    /// The present progress. Safe on any thread.
    public var progress: RemuxProgress { state.withLock { $0.progress } }

    /// Ends the copy as if the input ended here; the output is complete. Safe on any thread, at any time.
    public func stop() { cancellation.cancel() }

    /// Copies. If the calling task is cancelled, it ends with `cancelled` and leaves no output.
    ///
    /// - Throws: The first error of the input or the output; then there is no file with the output's name. In particular
    ///   `invalidArgument` if the output is the input, exists and may not be replaced, or does not support a video or audio
    ///   track; `malformedData` if the input is no media file or has no key frame; `invalidState` for a second run.
    public func run() async throws(MediaError) -> RemuxReport {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted
        }
        guard isFirst else { throw MediaError(.invalidState, "a remuxer can run only once") }
        try request.validate()
        let signals = Signals(
            isStopped: { [cancellation] in cancellation.isCancelled },
            isCancelled: { [abandonment] in abandonment.isCancelled },
            note: { [weak self] progress in self?.state.withLock { $0.progress = progress } }
        )
        let result = await withTaskCancellationHandler {
            await worker.result(request, cancellation, abandonment, signals)
        } onCancel: {
            abandonment.cancel()
            cancellation.cancel()
        }
        return try result.get()
    }
}

/// Reads and writes on a dedicated thread.
actor RemuxWorker {
    private let executor = ThreadExecutor(name: "vt-remux")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func result(
        _ request: RemuxRequest,
        _ cancellation: Cancellation,
        _ abandonment: Cancellation,
        _ signals: Remuxer.Signals
    ) -> Result<RemuxReport, MediaError> {
        do throws(MediaError) {
            let copy = try RemuxCopy(request, cancellation, abandonment)
            return .success(try copy.run(signals))
        } catch {
            return .failure(error)
        }
    }
}

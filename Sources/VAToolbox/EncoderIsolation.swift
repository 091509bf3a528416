// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import MediaTypes

/// In which process encoders work.
public enum EncoderIsolation: String, Sendable, Hashable, CaseIterable {
    /// Encoders of GPUs in a helper process, because drivers crash, abort and hang; software encoders in this process.
    case automatic = "auto"
    /// All in this process: the lowest latency.
    case inProcess = "in-process"
    /// All in helper processes. What happens to such a process is an error of the encoder, which the session answers by
    /// a new encoder in a new process; no frame is lost.
    case process
}

extension EncoderSelection {
    /// The same encoders, in helper processes.
    ///
    /// - Parameters:
    ///   - pool: Where they work.
    ///   - limits: Of the session. A helper's deadlines are a bit shorter, so that a helper that is stuck is told apart
    ///     from an encoder in this process that is.
    func inHelperProcesses(of pool: HelperPool, limits: SessionLimits) -> EncoderSelection {
        var deadlines = RemoteEncoderFactory.Deadlines()
        deadlines.start = min(deadlines.start, limits.creationDeadline / 4)
        deadlines.creation = limits.creationDeadline / 2
        deadlines.call = limits.frameDeadline * 3 / 4
        var selection = self
        selection.candidates = candidates.map { candidate in
            let factory = RemoteEncoderFactory(candidate.identity, pool: pool, deadlines: deadlines)
            return Candidate(factory: factory, reason: candidate.reason)
        }
        return selection
    }

    /// What buffers should be made of, so that the first candidate reads them where they are.
    var preferredMemory: PixelBufferPool.Memory {
        candidates.first?.factory is RemoteEncoderFactory ? .shared : .owned
    }
}

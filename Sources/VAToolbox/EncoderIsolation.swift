// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import Logging
import MediaTypes

/// In which process encoders work.
public enum EncoderIsolation: String, Sendable, Hashable, CaseIterable {
    /// Encoders of GPUs in a helper process, because drivers crash, abort and hang; software encoders in this process.
    case automatic = "auto"
    /// All in this process: the lowest latency.
    case inProcess = "in-process"
    /// All in a helper process of their own. What happens to it is an error of the encoder, which the session answers by
    /// a new encoder in a new process; no frame is lost.
    case process
}

extension EncoderSelection {
    /// The same encoders, each in a helper process.
    ///
    /// - Parameters:
    ///   - path: The helper program; `nil` for the one that is found.
    ///   - limits: Of the session. A helper's deadlines are a bit shorter, so that a helper that is stuck is told apart
    ///     from an encoder in this process that is.
    func inHelperProcesses(path: String?, limits: SessionLimits) -> EncoderSelection {
        var options = RemoteEncoderFactory.Options()
        options.helperPath = path
        options.startDeadline = min(options.startDeadline, limits.creationDeadline / 4)
        options.creationDeadline = limits.creationDeadline / 2
        options.callDeadline = limits.frameDeadline * 3 / 4
        let logger = Logger(label: "vatoolbox.helper")
        options.log = { line in
            // What libraries and drivers write to standard error has no level.
            logger.log(level: line.level.flatMap { Logger.Level(rawValue: $0) } ?? .info, "\(line.text)")
        }
        var selection = self
        selection.candidates = candidates.map { candidate in
            Candidate(factory: RemoteEncoderFactory(candidate.identity, options: options), reason: candidate.reason)
        }
        return selection
    }

    /// What buffers should be made of, so that the first candidate reads them where they are.
    var preferredMemory: PixelBufferPool.Memory {
        candidates.first?.factory is RemoteEncoderFactory ? .shared : .owned
    }
}

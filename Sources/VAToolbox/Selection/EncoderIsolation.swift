// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import Logging
import MediaTypes

/// The process in which encoders run.
public enum EncoderIsolation: String, Sendable, Hashable, CaseIterable {
    /// GPU encoders in a helper process, because drivers crash, abort and hang; software encoders in this process.
    case automatic = "auto"
    /// All encoders in this process, for the lowest latency. A GPU encoder that hangs is abandoned, and the GPU is
    /// tried again in a helper process.
    case inProcess = "in-process"
    /// All encoders in helper processes. If such a process fails, the session creates a new encoder in a new process;
    /// no frame is lost.
    case process
}

extension EncoderSelection {
    /// Returns the same encoders, each in the process that the isolation requires.
    ///
    /// - Parameters:
    ///   - isolation: Which encoders run in helper processes.
    ///   - pool: The pool of helper processes.
    ///   - limits: The limits of the session.
    ///   - logger: Receives the logs of the helper processes; `nil` leaves them to the pool.
    func isolated(
        _ isolation: EncoderIsolation,
        in pool: HelperPool,
        limits: SessionLimits,
        logger: Logger? = nil
    ) -> EncoderSelection {
        let deadlines = RemoteEncoderFactory.Deadlines(within: limits)
        var selection = self
        selection.candidates = candidates.map { candidate in
            let factory = RemoteEncoderFactory(candidate.identity, pool: pool, deadlines: deadlines, logger: logger)
            var isolated = candidate
            if isolation.appliesTo(candidate.identity) {
                isolated.factory = factory
            } else if candidate.identity.isHardware {
                isolated.factoryAfterHang = factory
            }
            return isolated
        }
        return selection
    }

}

extension EncoderDescription {
    /// The type of memory for buffers that the encoder can read in place.
    var preferredMemory: PixelBufferPool.Memory { isInHelper ? .shared : .owned }
}

extension EncoderSelection.Candidate {
    /// Whether its encoders run in a helper process.
    var isInHelper: Bool { factory.worksInHelper }

    /// Moves further encoders to helper processes after one has hung.
    ///
    /// - Returns: Whether further encoders run in a helper process.
    mutating func moveToHelper() -> Bool {
        if let factoryAfterHang { factory = factoryAfterHang }
        return isInHelper
    }
}

extension EncoderFactory {
    /// Whether its encoders run in a helper process.
    var worksInHelper: Bool { self is RemoteEncoderFactory || (self as? GatedFactory)?.inner.worksInHelper == true }
}

extension EncoderIsolation {
    /// Whether an encoder runs in a helper process.
    fileprivate func appliesTo(_ identity: EncoderIdentity) -> Bool {
        switch self {
        case .automatic: identity.isHardware
        case .inProcess: false
        case .process: true
        }
    }
}

extension RemoteEncoderFactory.Deadlines {
    /// Creates deadlines that are shorter than those of the session, so that a stuck helper can be distinguished from a
    /// stuck encoder in this process.
    init(within limits: SessionLimits) {
        self.init()
        start = min(start, limits.creationDeadline / 4)
        creation = limits.creationDeadline / 2
        call = limits.frameDeadline * 3 / 4
    }
}

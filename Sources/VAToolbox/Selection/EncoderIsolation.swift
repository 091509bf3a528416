// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
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
    /// The same encoders, where they shall work.
    ///
    /// - Parameters:
    ///   - isolation: Which of them work in helper processes.
    ///   - pool: These processes.
    ///   - limits: Of the session.
    ///   - logger: Takes what these processes log; `nil` leaves it to the pool.
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
    /// What buffers should be made of, so that the encoder reads them where they are.
    var preferredMemory: PixelBufferPool.Memory { isInHelper ? .shared : .owned }
}

extension EncoderSelection.Candidate {
    /// Whether it works in a helper process.
    var isInHelper: Bool { factory.worksInHelper }

    /// An encoder of it hangs: from now on it works in helper processes.
    ///
    /// - Returns: Whether it does.
    mutating func moveToHelper() -> Bool {
        if let factoryAfterHang { factory = factoryAfterHang }
        return isInHelper
    }
}

extension EncoderFactory {
    /// Whether its encoders work in a helper process.
    var worksInHelper: Bool { self is RemoteEncoderFactory || (self as? GatedFactory)?.inner.worksInHelper == true }
}

extension EncoderIsolation {
    /// Whether such an encoder is to work in a helper process.
    fileprivate func appliesTo(_ identity: EncoderIdentity) -> Bool {
        switch self {
        case .automatic: identity.isHardware
        case .inProcess: false
        case .process: true
        }
    }
}

extension RemoteEncoderFactory.Deadlines {
    /// A helper's deadlines are a bit shorter than those of the session, so that a helper that is stuck is told apart from
    /// an encoder in this process that is.
    init(within limits: SessionLimits) {
        self.init()
        start = min(start, limits.creationDeadline / 4)
        creation = limits.creationDeadline / 2
        call = limits.frameDeadline * 3 / 4
    }
}

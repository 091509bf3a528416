// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import MediaTypes

extension EncoderSelection {
    /// The same encoders, those of GPUs behind their gates, and in the order that suits what the GPUs have to do.
    ///
    /// - Parameters:
    ///   - options: How GPUs are chosen.
    ///   - helpers: Says which helper program test encodes use.
    ///   - configuration: What the session encodes.
    func guarded(
        _ options: DeviceOptions,
        in helpers: HelperPool,
        for configuration: EncoderConfiguration
    ) throws(MediaError) -> EncoderSelection {
        try guarded(options, helpers.options.path, for: configuration) { (candidate) throws(MediaError) in
            try Prover(candidate.identity, options, helpers: helpers)
        }
    }

    /// - Parameter prover: Makes what tries a candidate's device.
    func guarded(
        _ options: DeviceOptions,
        _ helperPath: String?,
        for configuration: EncoderConfiguration,
        prover: (Candidate) throws(MediaError) -> Prover
    ) throws(MediaError) -> EncoderSelection {
        var devices = candidates.indices.compactMap { index -> (index: Int, fingerprint: DeviceFingerprint)? in
            guard let node = candidates[index].node else { return nil }
            return (index, DeviceFingerprint(node, helperPath: helperPath))
        }
        guard let first = devices.first else { return self }
        let use = DeviceBoard.Use(configuration, candidates[first.index].codec)
        var places: [Int: StateLock] = [:]
        if options.placement == .spread {
            let board = DeviceBoard(state: options.state)
            let names = devices.map(\.fingerprint.device)
            let (order, taken) = board.spread(over: names, limit: options.sessionsPerDevice, use)
            let best = (taken.map { [$0.index] } ?? []) + order.filter { $0 != taken?.index }
            if let taken { places[devices[taken.index].index] = taken.place }
            devices = best.map { devices[$0] }
        }
        var guarded: [Candidate] = []
        for (index, fingerprint) in devices {
            var candidate = candidates[index]
            let gate = DeviceGate(
                fingerprint,
                candidate.identity,
                use,
                options,
                try prover(candidate),
                place: places[index]
            )
            candidate.factory = GatedFactory(inner: candidate.factory, gate: gate)
            // It may wait for somebody else who tries the same, and then try it.
            if options.proof == .required { candidate.preparation = options.proofDeadline * 4 }
            candidate.outcome = { gate.take($0) }
            candidate.proof = { gate.proof }
            candidate.settle = { await gate.settle() }
            if options.placement == .spread { candidate.reason += "; it has the least to do" }
            guarded.append(candidate)
        }
        var selection = self
        selection.candidates = guarded + candidates.filter { $0.node == nil }
        return selection
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
import Logging
import MediaTypes

extension EncoderSelection {
    /// Returns the same encoders with the GPU encoders behind their gates, in the order of placement.
    ///
    /// - Parameters:
    ///   - options: How GPUs are selected.
    ///   - helpers: Defines the helper program for test encodes.
    ///   - configuration: The configuration of the session.
    ///   - hung: The devices that have hung in a test encode of the same selection.
    ///   - logger: Receives the logs of test encode helpers; `nil` leaves them to `helpers`.
    func guarded(
        _ options: DeviceOptions,
        in helpers: HelperPool,
        for configuration: EncoderConfiguration,
        hung: HungDevices = HungDevices(),
        logger: Logger? = nil
    ) throws(MediaError) -> EncoderSelection {
        try guarded(options, helpers.options.path, for: configuration, hung: hung) { (candidate) throws(MediaError) in
            try Prover(candidate.identity, options, helpers: helpers, logger: logger)
        }
    }

    /// - Parameter prover: Creates the prover for a candidate's device.
    func guarded(
        _ options: DeviceOptions,
        _ helperPath: String?,
        for configuration: EncoderConfiguration,
        hung: HungDevices = HungDevices(),
        prover: (Candidate) throws(MediaError) -> Prover
    ) throws(MediaError) -> EncoderSelection {
        let devices = candidates.indices.compactMap { index -> Device? in
            guard let node = candidates[index].node else { return nil }
            return (index, DeviceFingerprint(node, helperPath: helperPath))
        }
        guard let first = devices.first else { return self }
        let use = DeviceBoard.Use(configuration, candidates[first.index].codec)
        let (ordered, places) = options.placement == .spread ? spread(devices, options, use) : (devices, [:])
        var guarded: [Candidate] = []
        for (index, fingerprint) in ordered {
            var candidate = candidates[index]
            let gate = DeviceGate(
                fingerprint,
                candidate.identity,
                use,
                options,
                try prover(candidate),
                hung: hung,
                place: places[index]
            )
            candidate.factory = GatedFactory(inner: candidate.factory, gate: gate)
            // The session may have to wait for another process that runs the same test, and then run it itself.
            if options.proof == .required { candidate.preparation = options.proofDeadline * 4 }
            candidate.outcome = { gate.take($0) }
            candidate.proof = { gate.proof }
            candidate.settle = { await gate.settle() }
            if options.placement == .spread { candidate.reason += "; it has the lowest load" }
            guarded.append(candidate)
        }
        var selection = self
        selection.candidates = guarded + candidates.filter { $0.node == nil }
        return selection
    }

    /// The index of a candidate, and its device.
    private typealias Device = (index: Int, fingerprint: DeviceFingerprint)

    /// Orders the devices of each codec by load and keeps the order of the codecs. Takes a place on the first device
    /// that has a free one, if it is a device for the first codec.
    private func spread(
        _ devices: [Device],
        _ options: DeviceOptions,
        _ use: DeviceBoard.Use
    ) -> ([Device], places: [Int: StateLock]) {
        let board = DeviceBoard(state: options.state)
        var (ordered, places): ([Device], [Int: StateLock]) = ([], [:])
        var codecs: [VideoCodec] = []
        for device in devices where !codecs.contains(candidates[device.index].codec) {
            codecs.append(candidates[device.index].codec)
        }
        for codec in codecs {
            let group = devices.filter { candidates[$0.index].codec == codec }
            let names = group.map(\.fingerprint.device)
            let (order, taken) = board.spread(over: names, limit: options.sessionsPerDevice, use)
            let best = (taken.map { [$0.index] } ?? []) + order.filter { $0 != taken?.index }
            if let taken {
                if codec == codecs[0] { places[group[taken.index].index] = taken.place } else { taken.place.release() }
            }
            ordered += best.map { group[$0] }
        }
        return (ordered, places)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
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
            try EncodingTests(candidate.identity, options, helpers: helpers, logger: logger)
        }
    }

    /// - Parameter tests: Returns the tests of a candidate's device.
    func guarded(
        _ options: DeviceOptions,
        _ helperPath: String?,
        for configuration: EncoderConfiguration,
        hung: HungDevices = HungDevices(),
        tests: (Candidate) throws(MediaError) -> EncodingTests
    ) throws(MediaError) -> EncoderSelection {
        let devices = candidates.indices.compactMap { index -> PlacedDevice? in
            guard let node = candidates[index].node else { return nil }
            let fingerprint = DeviceFingerprint(node, helperPath: helperPath)
            return PlacedDevice(index: index, fingerprint: fingerprint, codec: candidates[index].codec)
        }
        guard let first = devices.first else { return self }
        let use = DeviceBoard.Use(configuration, first.codec)
        let (ordered, places) = DeviceBoard(state: options.state).placed(devices, options, use)
        var guarded: [Candidate] = []
        for device in ordered {
            var candidate = candidates[device.index]
            let gate = DeviceGate(
                device.fingerprint,
                .encoding(device.codec),
                use,
                options,
                hung: hung,
                place: places[device.index]
            )
            candidate.factory = GatedFactory(inner: candidate.factory, gate: gate, tests: try tests(candidate))
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
}

extension DecoderSelection {
    /// Returns the same decoders with the GPU decoders behind their gates, in the order of placement.
    ///
    /// - Parameters:
    ///   - options: How GPUs are selected.
    ///   - helperPath: The path of the helper program; `nil` for the default.
    ///   - format: The format of the stream.
    ///   - hung: The devices that have hung in a test of the same selection.
    ///   - tests: Returns the tests of a candidate's device.
    func guarded(
        _ options: DeviceOptions,
        _ helperPath: String?,
        for format: FormatDescription,
        hung: HungDevices = HungDevices(),
        tests: (DecoderCandidate) throws(MediaError) -> DecodingTests
    ) throws(MediaError) -> DecoderSelection {
        let devices = candidates.indices.compactMap { index -> PlacedDevice? in
            guard let node = candidates[index].node else { return nil }
            let fingerprint = DeviceFingerprint(node, .decoding, helperPath: helperPath)
            return PlacedDevice(index: index, fingerprint: fingerprint, codec: format.codec)
        }
        let use = DeviceBoard.Use(format)
        let (ordered, places) = DeviceBoard(state: options.state).placed(devices, options, use)
        var guarded: [DecoderCandidate] = []
        for device in ordered {
            var candidate = candidates[device.index]
            let gate = DeviceGate(
                device.fingerprint,
                .decoding(device.codec),
                use,
                options,
                hung: hung,
                place: places[device.index]
            )
            candidate.factory = GatedDecoderFactory(inner: candidate.factory, gate: gate, tests: try tests(candidate))
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
}

/// The device of a candidate.
struct PlacedDevice {
    /// The index of the candidate.
    var index: Int
    var fingerprint: DeviceFingerprint
    var codec: VideoCodec
}

extension DeviceBoard {
    /// Orders the devices of each codec as the options require, by load or as they are, and keeps the order of the codecs.
    /// By load, it takes a place on the first device that has a free one, if it is a device for the first codec.
    fileprivate func placed(
        _ devices: [PlacedDevice],
        _ options: DeviceOptions,
        _ use: Use
    ) -> (devices: [PlacedDevice], places: [Int: StateLock]) {
        guard options.placement == .spread else { return (devices, [:]) }
        var (ordered, places): ([PlacedDevice], [Int: StateLock]) = ([], [:])
        var codecs: [VideoCodec] = []
        for device in devices where !codecs.contains(device.codec) { codecs.append(device.codec) }
        for codec in codecs {
            let group = devices.filter { $0.codec == codec }
            let names = group.map(\.fingerprint.device)
            let (order, taken) = spread(over: names, limit: options.sessionsPerDevice, use)
            let best = (taken.map { [$0.index] } ?? []) + order.filter { $0 != taken?.index }
            if let taken {
                if codec == codecs[0] { places[group[taken.index].index] = taken.place } else { taken.place.release() }
            }
            ordered += best.map { group[$0] }
        }
        return (ordered, places)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization
import TestSupport
import VideoDecoding

/// Makes decoders of libavcodec to which something happens.
struct PlannedDecoderFactory: DecoderFactory {
    let identity: DecoderIdentity
    let plan: DecoderPlan
    let fault: Fault

    init?(_ identity: DecoderIdentity) {
        guard let plan = DecoderPlan(identity), let fault = Fault(rawValue: plan.fault) else { return nil }
        (self.identity, self.plan, self.fault) = (identity, plan, fault)
    }

    func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
        if plan.isMet(.creating) { try fault.strike() }
        return try PlannedDecoder(self, request)
    }
}

private final class PlannedDecoder: DecoderBackend {
    var properties: DecoderProperties { decoder.properties }
    private let factory: PlannedDecoderFactory
    private let decoder: any DecoderBackend
    private let held: HeldPictures

    init(_ factory: PlannedDecoderFactory, _ request: DecoderRequest) throws(MediaError) {
        let held = HeldPictures(most: factory.plan.delay, output: request.output)
        var request = request
        request.output = { held.add($0) }
        decoder = try SoftwareDecoderFactory(codec: factory.identity.codec).makeDecoder(request)
        self.held = held
        self.factory = factory
    }

    func decode(_ sample: DecoderSample) throws(MediaError) {
        if factory.plan.isMet(.decoding, sample: sample.number) { try factory.fault.strike() }
        try decoder.decode(sample)
    }

    func drain() throws(MediaError) {
        if factory.plan.isMet(.draining) { try factory.fault.strike() }
        try decoder.drain()
        held.release()
    }
}

/// Pictures that are held back.
private final class HeldPictures: Sendable {
    private let most: Int
    private let output: @Sendable (DecoderOutput) -> Void
    private let held = Mutex<[DecodedPicture]>([])

    init(most: Int, output: @escaping @Sendable (DecoderOutput) -> Void) {
        self.most = most
        self.output = output
    }

    func add(_ output: DecoderOutput) {
        guard case .picture(let picture) = output else { return self.output(output) }
        held.withLock { $0.append(picture) }
        release(downTo: most)
    }

    func release(downTo most: Int = 0) {
        while let next = held.withLock({ $0.count > most ? $0.removeFirst() : nil }) { output(.picture(next)) }
    }
}

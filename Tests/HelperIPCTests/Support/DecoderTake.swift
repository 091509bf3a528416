// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

/// What a decoder puts out. Pictures are kept until somebody takes them.
final class DecoderOutputs: Sendable {
    private struct State {
        var pictures: [DecodedPicture] = []
        var damaged: [Int64] = []
        var errors: [MediaError] = []
        var starvations: [DecoderStarvation] = []
    }

    private let state = Mutex(State())
    /// What is done with a picture instead of keeping it.
    private let use: (@Sendable (DecodedPicture) -> Void)?

    init(use: (@Sendable (DecodedPicture) -> Void)? = nil) { self.use = use }

    func add(_ output: DecoderOutput) {
        if case .picture(let picture) = output, let use { return use(picture) }
        state.withLock { state in
            switch output {
            case .picture(let picture): state.pictures.append(picture)
            case .damaged(let number, _): state.damaged.append(number)
            case .failed(let error): state.errors.append(error)
            }
        }
    }

    func add(_ starvation: DecoderStarvation) { state.withLock { $0.starvations.append(starvation) } }

    /// Takes the first pictures, and waits for them if they are not there.
    func take(_ count: Int) -> [DecodedPicture] {
        _ = Patience.block { state.withLock { $0.pictures.count >= count } }
        return state.withLock { state in
            let taken = Array(state.pictures.prefix(count))
            state.pictures.removeFirst(taken.count)
            return taken
        }
    }

    /// Takes all pictures that are there.
    func takeAll() -> [DecodedPicture] {
        state.withLock { state in
            defer { state.pictures = [] }
            return state.pictures
        }
    }

    var pictureCount: Int { state.withLock { $0.pictures.count } }
    var damaged: [Int64] { state.withLock { $0.damaged } }
    var errors: [MediaError] { state.withLock { $0.errors } }
    var starvations: [DecoderStarvation] { state.withLock { $0.starvations } }
}

/// A decoder in a helper, and what it has put out.
struct DecoderTake {
    let decoder: RemoteDecoder
    let outputs: DecoderOutputs

    init(
        _ name: String,
        _ pool: HelperPool,
        outputs: DecoderOutputs = DecoderOutputs(),
        format: FormatDescription = EchoPicture(seed: 0).formatDescription,
        _ change: (inout RemoteDecoderFactory.Options) -> Void = { _ in }
    ) throws(MediaError) {
        var options = RemoteDecoderFactory.Options()
        options.deadlines.start = .seconds(30)
        options.deadlines.creation = .seconds(30)
        options.deadlines.call = .seconds(30)
        options.deadlines.release = .seconds(30)
        options.starvation = { outputs.add($0) }
        change(&options)
        let factory = RemoteDecoderFactory(.init(name: name, codec: .h264), pool: pool, options: options)
        let made = try factory.makeDecoder(DecoderRequest(formatDescription: format) { outputs.add($0) })
        guard let decoder = made as? RemoteDecoder else { throw MediaError(.invalidState, "no remote decoder") }
        self.decoder = decoder
        self.outputs = outputs
    }

    /// Decodes pictures in this order, and shows them in this one.
    func decode(_ pictures: [EchoPicture], from first: Int64 = 0) throws(MediaError) {
        for (index, picture) in pictures.enumerated() { try decoder.decode(picture.sample(first + Int64(index))) }
    }
}

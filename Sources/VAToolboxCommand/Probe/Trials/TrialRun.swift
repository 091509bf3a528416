// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
import MediaTypes
import Transcoding
import VAToolbox

/// Tries combinations on one device, each with an encoder and a helper process of its own, so that what a driver does in
/// one of them cannot be blamed on another.
struct TrialRun: Sendable {
    private let factory: @Sendable (VideoCodec) -> any EncoderFactory
    private let patience: Duration

    /// - Parameters:
    ///   - factory: Makes the encoders of a codec.
    ///   - patience: How long the creation of an encoder, a call to it and all of its frames may take.
    init(patience: Duration, factory: @escaping @Sendable (VideoCodec) -> any EncoderFactory) {
        self.factory = factory
        self.patience = patience
    }

    /// Encoders of a device in helpers, of which one always waits ready.
    ///
    /// - Parameter identity: The encoder of a codec.
    /// - Throws: what a pool of helpers throws.
    init(patience: Duration, _ identity: @escaping @Sendable (VideoCodec) -> EncoderIdentity) throws(MediaError) {
        var options = HelperPool.Options()
        options.keepsSpare = true
        // What a driver says of a failed trial is in the trial's reason.
        options.log = { _ in }
        var deadlines = RemoteEncoderFactory.Deadlines()
        deadlines.start = max(deadlines.start, patience)
        (deadlines.creation, deadlines.call) = (patience, patience)
        let pool = try HelperPool(options)
        self.init(patience: patience) { [deadlines] codec in
            RemoteEncoderFactory(identity(codec), pool: pool, deadlines: deadlines)
        }
    }

    /// Encodes a few frames, and looks at what came out. Blocks.
    func result(of trial: Trial) -> TrialResult {
        let test = TestEncode(
            factory: factory(trial.codec),
            patience: patience,
            frameCount: Trial.frameCount,
            verifier: DecodingVerifier()
        )
        let result = test.result(of: trial.configuration, expecting: trial.expectation)
        return TrialResult(
            trial: trial,
            ending: TrialResult.Ending(result.ending),
            adjustments: result.adjustments,
            duration: result.duration
        )
    }
}

extension Trial {
    /// What its stream has to be like.
    var expectation: TestEncode.Expectation { .init(slices: slices, hasBFrames: bFrames > 0) }
}

extension TrialResult.Ending {
    init(_ ending: TestEncode.Ending) {
        self =
            switch ending {
            case .passed: .passed
            case .failed(let stage, let error): .failed(stage, reason: Readable.oneLine(error.readable))
            case .refused(let error): .refused(reason: Readable.oneLine(error.readable))
            }
    }
}

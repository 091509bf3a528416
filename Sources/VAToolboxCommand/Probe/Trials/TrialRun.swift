// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import Transcoding
import VAToolbox

/// Tries combinations on one device, each with a separate encoder and helper process, so that the effects of one trial
/// are not attributed to another.
struct TrialRun: Sendable {
    private let factory: @Sendable (VideoCodec) -> any EncoderFactory
    private let patience: Duration

    /// - Parameters:
    ///   - factory: Creates the encoder factory of a codec.
    ///   - patience: The deadline for the creation of an encoder, for each call to it, and for all of its frames.
    init(patience: Duration, factory: @escaping @Sendable (VideoCodec) -> any EncoderFactory) {
        self.factory = factory
        self.patience = patience
    }

    /// Runs the encoders of a device in helpers, with one spare helper always ready.
    ///
    /// - Parameter identity: Returns the encoder of a codec.
    /// - Throws: Any error of the helper pool.
    init(patience: Duration, _ identity: @escaping @Sendable (VideoCodec) -> EncoderIdentity) throws(MediaError) {
        var options = HelperPool.Options()
        options.keepsSpare = true
        // The reason of a failed trial already contains the driver's messages.
        options.log = { _ in }
        var deadlines = RemoteEncoderFactory.Deadlines()
        deadlines.start = max(deadlines.start, patience)
        (deadlines.creation, deadlines.call) = (patience, patience)
        let pool = try HelperPool(options)
        self.init(patience: patience) { [deadlines] codec in
            RemoteEncoderFactory(identity(codec), pool: pool, deadlines: deadlines)
        }
    }

    /// Encodes a few frames and checks the output. Blocks.
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
    /// The expected properties of its stream.
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

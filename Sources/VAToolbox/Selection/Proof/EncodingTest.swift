// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import Logging
import MediaTypes

/// The tests of a device's encoder.
struct EncodingTests: Sendable {
    /// Creates encoders for test encodes that cannot harm this process.
    let factory: any EncoderFactory
    private let deadline: Duration
    private let verifier: (any SampleVerifier)?

    /// - Parameters:
    ///   - helpers: Defines the helper program.
    ///   - logger: Receives the logs of the helpers; `nil` leaves them to `helpers`.
    init(
        _ identity: EncoderIdentity,
        _ options: DeviceOptions,
        helpers: HelperPool,
        logger: Logger? = nil
    ) throws(MediaError) {
        var deadlines = RemoteEncoderFactory.Deadlines()
        deadlines.start = options.proofDeadline / 2
        (deadlines.creation, deadlines.call) = (options.proofDeadline / 2, options.proofDeadline / 2)
        let factory = RemoteEncoderFactory(
            identity,
            pool: try helpers.forTests(helpers.options.program),
            deadlines: deadlines,
            logger: logger
        )
        self.init(options, factory: factory)
    }

    init(_ options: DeviceOptions, factory: any EncoderFactory) {
        self.factory = factory
        (deadline, verifier) = (options.proofDeadline, options.verifier)
    }

    /// The test of a configuration.
    func test(of configuration: EncoderConfiguration) -> some DeviceTest {
        EncodingTest(
            subject: ConfigurationClass(configuration, factory.identity.codec).description,
            configuration: configuration,
            encode: TestEncode(
                factory: factory,
                patience: deadline,
                frameCount: configuration.proofFrameCount,
                verifier: verifier
            )
        )
    }
}

/// A ``TestEncode`` of a configuration.
private struct EncodingTest: DeviceTest {
    let subject: String
    let configuration: EncoderConfiguration
    let encode: TestEncode

    func run() -> DeviceTestResult {
        let result = encode.result(of: configuration.forProof)
        let ending: DeviceTestResult.Ending =
            switch result.ending {
            case .passed(let isDecoded): .passed(isDecoded: isDecoded)
            case .failed(let stage, let error): .failed(stage: stage.rawValue, error)
            case .refused(let error): .refused(error)
            }
        return DeviceTestResult(ending: ending, driver: result.encoderName ?? "")
    }
}

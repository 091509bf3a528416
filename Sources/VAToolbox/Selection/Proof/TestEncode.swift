// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
package import MediaTypes
import Synchronization

/// A short encode that tests an encoder: a few pictures are encoded, and the output is parsed, decoded and compared
/// with them.
package struct TestEncode: Sendable {
    /// Creates the encoder.
    package var factory: any EncoderFactory
    /// The deadline for the creation of the encoder, for each call to it, and for all of its frames.
    package var patience: Duration
    /// The number of frames.
    package var frameCount: Int
    /// Decodes the output; without a verifier, the test ends after parsing.
    package var verifier: (any SampleVerifier)?

    /// Creates a test.
    package init(
        factory: any EncoderFactory,
        patience: Duration,
        frameCount: Int,
        verifier: (any SampleVerifier)?
    ) {
        self.factory = factory
        self.patience = patience
        self.frameCount = frameCount
        self.verifier = verifier
    }

    /// The expected properties of the stream, in addition to containing all frames; `nil` for those that are not known
    /// in advance.
    package struct Expectation: Sendable, Hashable {
        /// The number of slices per picture.
        package var slices: Int?
        /// Whether the stream contains B-frames.
        package var hasBFrames: Bool?

        /// Creates an expectation.
        package init(slices: Int? = nil, hasBFrames: Bool? = nil) {
            self.slices = slices
            self.hasBFrames = hasBFrames
        }
    }

    /// The result of a test.
    package struct Result: Sendable, Hashable {
        /// How the test ended.
        package var ending: Ending
        /// The settings of the encoder that differ from the request.
        package var adjustments: [Adjustment]
        /// The encoder's name; `nil` if no encoder was created.
        package var encoderName: String?
        /// The duration of the test.
        package var duration: Duration
    }

    /// How a test ends.
    package enum Ending: Sendable, Hashable {
        /// All stages passed. The last one was ``Stage/decodes`` or, without a verifier, the stage before it.
        case passed(isDecoded: Bool)
        /// A stage failed; the stages before it passed.
        case failed(Stage, MediaError)
        /// The encoder refused the configuration before anything was created.
        case refused(MediaError)
    }

    /// Runs the test and checks the output. Blocks.
    ///
    /// - Parameter expectation: Applies only to an encoder without adjustments.
    package func result(
        of configuration: EncoderConfiguration,
        expecting expectation: Expectation = .init()
    ) -> Result {
        let clock = SuspendingClock()
        let start = clock.now
        var result = Result(ending: .passed(isDecoded: false), adjustments: [], encoderName: nil, duration: .zero)
        result.ending = ending(of: configuration, expectation, &result, by: start + patience)
        result.duration = clock.now - start
        return result
    }

    private func ending(
        of configuration: EncoderConfiguration,
        _ expectation: Expectation,
        _ result: inout Result,
        by end: SuspendingClock.Instant
    ) -> Ending {
        let codec = factory.identity.codec
        let output = TestOutput()
        let encoder: any EncoderBackend
        let pool: PixelBufferPool
        let valid: EncoderConfiguration
        do throws(MediaError) {
            valid = try configuration.validated(for: codec).configuration
            encoder = try factory.makeEncoder(EncoderRequest(configuration: valid, output: { output.take($0) }))
            let formats = encoder.properties.pixelFormats
            let format = formats.contains(.nv12) ? .nv12 : formats.first ?? .nv12
            let description = PixelBuffer.Description(format: format, width: valid.width, height: valid.height)
            pool = try PixelBufferPool(description, memory: .shared)
        } catch {
            return Ending(creationFailedBy: error)
        }
        result.adjustments = encoder.properties.adjustments
        result.encoderName = encoder.properties.name
        do throws(MediaError) {
            for number in 0..<frameCount {
                if .now > end {
                    throw MediaError(.deadlineExceeded, "the frames took too long", allowed: "\(patience)")
                }
                let picture = try pool.make()
                try TestPattern.draw(number, into: picture)
                output.countFrame()
                try encoder.encode(EncoderFrame(number: number, picture: picture))
            }
            try encoder.drain()
            try output.checkFailure()
        } catch {
            let failure = output.failure ?? error
            let depth = valid.hardware.framesInFlight ?? (valid.isLowLatency ? 1 : 4)
            return Ending(encodingFailedBy: failure, framesUnderWay: output.framesUnderWay, depth: depth)
        }
        var stream = TestStream(codec, width: valid.width, height: valid.height, frameCount: frameCount)
        if result.adjustments.isEmpty { stream.expectation = expectation }
        var format = encoder.properties.formatDescription
        for frame in output.frames {
            format = frame.formatDescription ?? format
            stream.add(frame, format)
        }
        if let failure = stream.failure(verifier) { return .failed(failure.stage, failure.error) }
        return .passed(isDecoded: verifier != nil)
    }
}

extension EncoderFrame {
    fileprivate init(number: Int, picture: PixelBuffer) {
        self.init(
            number: Int64(number),
            buffer: picture,
            presentationTime: MediaTime(value: Int64(number), timescale: 30),
            duration: MediaTime(value: 1, timescale: 30)
        )
    }
}

/// The output of an encoder, from any thread.
private final class TestOutput: Sendable {
    private struct State {
        var given = 0
        var frames: [CodedFrame] = []
        var failure: MediaError?
    }

    private let state = Mutex(State())

    func take(_ output: EncoderOutput) {
        state.withLock { state in
            switch output {
            case .coded(let frame): state.frames.append(frame)
            case .failed(let error): state.failure = state.failure ?? error
            }
        }
    }

    func countFrame() { state.withLock { $0.given += 1 } }

    var frames: [CodedFrame] { state.withLock { $0.frames } }
    var failure: MediaError? { state.withLock { $0.failure } }
    var framesUnderWay: Int { state.withLock { $0.given - $0.frames.count } }

    func checkFailure() throws(MediaError) {
        if let failure { throw failure }
    }
}

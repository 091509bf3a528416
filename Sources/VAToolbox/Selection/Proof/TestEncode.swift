// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
package import MediaTypes
import Synchronization

/// A short encode to see whether an encoder does what it says: a few pictures go in, and what comes out is read, decoded and
/// held against them.
package struct TestEncode: Sendable {
    /// Makes the encoder.
    package var factory: any EncoderFactory
    /// How long the creation of the encoder, a call to it and all of its frames may take.
    package var patience: Duration
    /// How many frames.
    package var frameCount: Int
    /// Decodes; without one the test ends when everything is read.
    package var verifier: (any SampleVerifier)?

    /// Makes a test.
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

    /// What the stream has to be like, beside being a stream of all frames; `nil` where that is not known before.
    package struct Expectation: Sendable, Hashable {
        /// Slices of each picture.
        package var slices: Int?
        /// Whether there are B-frames.
        package var hasBFrames: Bool?

        /// Makes an expectation.
        package init(slices: Int? = nil, hasBFrames: Bool? = nil) {
            self.slices = slices
            self.hasBFrames = hasBFrames
        }
    }

    /// What came of it.
    package struct Result: Sendable, Hashable {
        /// How it ended.
        package var ending: Ending
        /// What the encoder does otherwise than it was asked to.
        package var adjustments: [Adjustment]
        /// The encoder's name for itself; `nil` if there was none.
        package var encoderName: String?
        /// How long it took.
        package var duration: Duration
    }

    /// How a test ends.
    package enum Ending: Sendable, Hashable {
        /// Every stage was passed; whether the last one was ``Stage/decodes`` or, for want of a verifier, the one before.
        case passed(isDecoded: Bool)
        /// A stage was not passed; those before it were.
        case failed(Stage, MediaError)
        /// The encoder said before anything was created that it cannot do it.
        case refused(MediaError)
    }

    /// Encodes, and looks at what came out. Blocks.
    ///
    /// - Parameter expectation: Holds only for an encoder that does what it was asked for.
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

/// What an encoder gives out, on whichever thread.
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

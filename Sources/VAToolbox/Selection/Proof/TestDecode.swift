// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import Logging
package import MediaTypes
import Synchronization

/// A short decode that tests a decoder: it decodes a ``KnownStream``, and the pictures must be the known ones.
package struct TestDecode: Sendable {
    /// The steps from a driver to a picture, in order.
    package enum Stage: String, Sendable, CaseIterable {
        /// The driver is loaded, and the decoder is created.
        case device
        /// `vaCreateConfig`.
        case config
        /// `vaCreateContext`, with the surfaces.
        case context
        /// Pictures are submitted to the driver (`vaBeginPicture`, `vaRenderPicture`, `vaEndPicture` and their buffers).
        case submit
        /// Decoded pictures are awaited and copied (`vaSyncSurface`, `vaGetImage`, `vaMapBuffer`).
        case sync
        /// Every picture was returned, once and without damage.
        case pictures
        /// Every sample of every picture has the right value.
        case matches
    }

    /// Creates the decoder.
    let factory: any DecoderFactory
    /// The deadline for the creation of the decoder, for each call to it, and for all pictures.
    let patience: Duration
    /// What it decodes.
    let stream: KnownStream

    /// Creates a test.
    package init(factory: any DecoderFactory, patience: Duration, stream: KnownStream) {
        (self.factory, self.patience, self.stream) = (factory, patience, stream)
    }

    /// Runs the test. Blocks.
    ///
    /// - Returns: The stage that failed, `nil` if it is refused before anything is created, with the error; `nil` if all
    ///   stages passed. Besides the decoder's name, once it is created.
    package func result() -> (failure: (stage: Stage?, error: MediaError)?, decoderName: String?) {
        let end = SuspendingClock.now + patience
        let output = TestPictures()
        let samples: [SampleBuffer]
        let decoder: any DecoderBackend
        do throws(MediaError) {
            samples = try stream.samples()
            guard let first = samples.first else { throw MediaError(.malformedData, "the known stream is empty") }
            let request = DecoderRequest(formatDescription: first.formatDescription) { output.take($0) }
            decoder = try factory.makeDecoder(request)
        } catch {
            return ((Self.stage(of: error, otherwise: .device), error.withoutHelper), nil)
        }
        let name = decoder.properties.name
        do throws(MediaError) {
            for (index, sample) in samples.enumerated() {
                if .now > end {
                    throw MediaError(.deadlineExceeded, "the pictures took too long", allowed: "\(patience)")
                }
                try decoder.decode(DecoderSample(number: Int64(index), sample: sample))
            }
            try decoder.drain()
            if let failure = output.failure { throw failure }
        } catch {
            let failure = output.failure ?? error
            let stage = Self.stage(of: failure, otherwise: output.isEmpty ? .submit : .sync)
            return ((stage, failure.withoutHelper), name)
        }
        return (output.verdict(on: stream), name)
    }

    /// - Returns: `nil` if the decoder has refused the stream.
    private static func stage(of error: MediaError, otherwise stage: Stage) -> Stage? {
        switch error.call {
        case nil: [.unsupported, .invalidArgument].contains(error.code) ? nil : stage
        case "vaCreateConfig": .config
        case "vaCreateContext", "vaCreateSurfaces", "vaCreateImage", "vaQuerySurfaceAttributes": .context
        case "vaSyncSurface", "vaSyncSurface2", "vaGetImage", "vaDeriveImage", "vaMapBuffer": .sync
        case "vaBeginPicture", "vaRenderPicture", "vaEndPicture", "vaCreateBuffer": .submit
        // The call is unknown if the helper has ended.
        default: stage
        }
    }
}

/// The tests of a device's decoder.
struct DecodingTests: Sendable {
    /// Creates decoders for test decodes that cannot harm this process.
    let factory: any DecoderFactory
    private let deadline: Duration

    /// - Parameters:
    ///   - helpers: Defines the helper program.
    ///   - logger: Receives the logs of the helpers; `nil` leaves them to `helpers`.
    init(
        _ identity: DecoderIdentity,
        _ options: DeviceOptions,
        helpers: HelperPool,
        logger: Logger? = nil
    ) throws(MediaError) {
        var remote = RemoteDecoderFactory.Options()
        let half = options.proofDeadline / 2
        (remote.deadlines.start, remote.deadlines.creation, remote.deadlines.call) = (half, half, half)
        let pool = try helpers.forTests(.decoding)
        self.init(options, factory: RemoteDecoderFactory(identity, pool: pool, options: remote, logger: logger))
    }

    init(_ options: DeviceOptions, factory: any DecoderFactory) {
        (self.factory, deadline) = (factory, options.proofDeadline)
    }

    /// The test with a stream.
    func test(with stream: KnownStream) -> some DeviceTest {
        DecodingTest(decode: TestDecode(factory: factory, patience: deadline, stream: stream))
    }

    /// The class of streams that a test with a stream proves, for example `h264 decode high interlaced`.
    static func subject(_ stream: KnownStream) -> String { "\(stream.codec.rawValue) decode \(stream.name)" }
}

private struct DecodingTest: DeviceTest {
    let decode: TestDecode

    var subject: String { DecodingTests.subject(decode.stream) }

    func run() -> DeviceTestResult {
        let result = decode.result()
        let ending: DeviceTestResult.Ending =
            switch result.failure {
            case nil: .passed(isDecoded: true)
            case (let stage?, let error)?: .failed(stage: stage.rawValue, error)
            case (nil, let error)?: .refused(error)
            }
        return DeviceTestResult(ending: ending, driver: result.decoderName ?? "")
    }
}

/// The pictures of a decoder, from any thread.
private final class TestPictures: Sendable {
    private struct State {
        var numbers: Set<Int64> = []
        var checksums: [UInt64?] = []
        var damage: MediaError?
        var failure: MediaError?
    }

    private let state = Mutex(State())

    var failure: MediaError? { state.withLock { $0.failure } }
    var isEmpty: Bool { state.withLock { $0.checksums.isEmpty } }

    func take(_ output: DecoderOutput) {
        switch output {
        case .picture(let picture):
            let checksum = (try? KnownStream.checksum(of: picture.buffer)) ?? nil
            state.withLock { state in
                state.numbers.insert(picture.number)
                state.checksums.append(checksum)
                if picture.isDamaged {
                    state.damage = state.damage ?? MediaError(.malformedData, "a picture is damaged")
                }
            }
        case .damaged(_, let error): state.withLock { $0.damage = $0.damage ?? error }
        case .failed(let error): state.withLock { $0.failure = $0.failure ?? error }
        }
    }

    /// Returns the first stage that the pictures fail; `nil` if they pass.
    func verdict(on stream: KnownStream) -> (stage: TestDecode.Stage?, error: MediaError)? {
        let state = state.withLock { $0 }
        let count = stream.checksums.count
        if let damage = state.damage {
            return (.pictures, MediaError(.frameFailed, "intact pictures are said to be damaged: \(damage.readable)"))
        }
        guard state.checksums.count == count, state.numbers.count == count else {
            let text = "\(state.numbers.count) of \(count) pictures were returned, \(state.checksums.count) in total"
            return (.pictures, MediaError(.frameFailed, text))
        }
        let wrong = zip(state.checksums, stream.checksums).count { $0 != $1 }
        if wrong == 0 { return nil }
        return (.matches, MediaError(.frameFailed, "\(wrong) of \(count) pictures are wrong"))
    }
}

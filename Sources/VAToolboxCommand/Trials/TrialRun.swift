// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
import MediaTypes
import Synchronization

/// Tries combinations on one device, each with an encoder and a helper process of its own, so that what a driver does in
/// one of them cannot be blamed on another.
struct TrialRun: Sendable {
    /// Makes the encoders.
    let factory: any EncoderFactory
    /// How long the creation of an encoder, a call to it and all of its frames may take.
    let patience: Duration

    init(factory: any EncoderFactory, patience: Duration) {
        self.factory = factory
        self.patience = patience
    }

    /// Encoders of that name in helpers, of which one always waits ready.
    ///
    /// - Throws: what a pool of helpers throws.
    init(_ identity: EncoderIdentity, patience: Duration) throws(MediaError) {
        var options = HelperPool.Options()
        options.keepsSpare = true
        // What a driver says of a failed trial is in the trial's reason.
        options.log = { _ in }
        var deadlines = RemoteEncoderFactory.Deadlines()
        deadlines.start = max(deadlines.start, patience)
        (deadlines.creation, deadlines.call) = (patience, patience)
        let factory = RemoteEncoderFactory(identity, pool: try HelperPool(options), deadlines: deadlines)
        self.init(factory: factory, patience: patience)
    }

    /// Encodes a few frames, and looks at what came out. Blocks.
    func result(of trial: Trial) -> TrialResult {
        let clock = SuspendingClock()
        let start = clock.now
        var adjustments: [Adjustment] = []
        let ending = ending(of: trial, &adjustments, by: start + patience)
        return TrialResult(trial: trial, ending: ending, adjustments: adjustments, duration: clock.now - start)
    }

    private func ending(
        of trial: Trial,
        _ adjustments: inout [Adjustment],
        by end: SuspendingClock.Instant
    ) -> TrialResult.Ending {
        let output = TrialOutput()
        let encoder: any EncoderBackend
        let pool: PixelBufferPool
        do throws(MediaError) {
            let configuration = try trial.configuration.validated(for: .h264).configuration
            let description = PixelBuffer.Description(format: .nv12, width: trial.width, height: trial.height)
            pool = try PixelBufferPool(description, memory: .shared)
            encoder = try factory.makeEncoder(
                EncoderRequest(configuration: configuration, output: { output.take($0) })
            )
        } catch {
            return .init(creationFailedBy: error)
        }
        adjustments = encoder.properties.adjustments
        do throws(MediaError) {
            for number in 0..<Trial.frameCount {
                if .now > end {
                    throw MediaError(.deadlineExceeded, "the frames took too long", allowed: "\(patience)")
                }
                output.countFrame()
                try encoder.encode(EncoderFrame(number: Int64(number), picture: try Self.picture(number, pool)))
            }
            try encoder.drain()
            try output.checkFailure()
        } catch {
            let failure = output.failure ?? error
            let depth = trial.configuration.hardware.framesInFlight ?? 4
            return .init(encodingFailedBy: failure, framesUnderWay: output.framesUnderWay, depth: depth)
        }
        var stream = TrialStream(trial, isAsAsked: adjustments.isEmpty)
        var format = encoder.properties.formatDescription
        for frame in output.frames {
            format = frame.formatDescription ?? format
            stream.add(frame, format)
        }
        return stream.failure().map { .failed($0.stage, reason: $0.reason) } ?? .passed
    }

    /// A gradient that moves.
    private static func picture(_ number: Int, _ pool: PixelBufferPool) throws(MediaError) -> PixelBuffer {
        let buffer = try pool.make()
        try buffer.withPlanes { planes throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                for row in 0..<(index == 0 ? buffer.height : buffer.height / 2) {
                    let start = plane.baseAddress + row * plane.bytesPerRow
                    for column in 0..<buffer.width {
                        let value = index == 0 ? 32 + (column + row + 4 * number) % 192 : 96 + row % 64
                        start.storeBytes(of: UInt8(value), toByteOffset: column, as: UInt8.self)
                    }
                }
            }
        }
        return buffer
    }
}

extension EncoderFrame {
    fileprivate init(number: Int64, picture: PixelBuffer) {
        self.init(
            number: number,
            buffer: picture,
            presentationTime: MediaTime(value: number, timescale: 30),
            duration: MediaTime(value: 1, timescale: 30)
        )
    }
}

/// What an encoder gives out, on whichever thread.
private final class TrialOutput: Sendable {
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

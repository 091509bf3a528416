// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization
internal import VAToolbox

/// Records when the frames of one stream are submitted and returned, which two tasks do.
final class StreamRecorder: Sendable {
    private struct Input {
        var handedOver: [Double]
        var failure: MediaError?
    }

    private struct Output {
        var arrived: [Double]
        var sizes: [Int]
        var keyFrames: [Int] = []
        var samples: [SampleBuffer] = []
        var last = 0.0
    }

    private let input: Mutex<Input>
    private let output: Mutex<Output>
    private let keepsSamples: Bool
    private let creationTime: Double
    private let begin = Mutex(0.0)

    /// - Parameters:
    ///   - frames: The number of frames.
    ///   - keepsSamples: Whether the samples are kept.
    ///   - creationTime: The time that the creation of the session took.
    init(frames: Int, keepsSamples: Bool, creationTime: Double) {
        input = Mutex(Input(handedOver: Array(repeating: -1, count: frames)))
        output = Mutex(Output(arrived: Array(repeating: -1, count: frames), sizes: Array(repeating: 0, count: frames)))
        self.keepsSamples = keepsSamples
        self.creationTime = creationTime
    }

    /// The reference for all times. It must be set before anything is recorded.
    var start: Double {
        get { begin.withLock { $0 } }
        set { begin.withLock { $0 = newValue } }
    }

    func handOver(_ frame: Int, at moment: Double) { input.withLock { $0.handedOver[frame] = moment } }

    func take(_ sample: SampleBuffer) {
        let moment = monotonicSeconds()
        guard let frame = sample.token as? Int else { return }
        output.withLock { output in
            output.last = moment
            // A frame that the encoder dropped has a place in the stream and no bytes.
            guard !sample.isDropped else { return }
            output.arrived[frame] = moment
            output.sizes[frame] = sample.data.count
            if sample.isKeyFrame { output.keyFrames.append(frame) }
            if keepsSamples { output.samples.append(sample) }
        }
    }

    func fail(_ error: MediaError) { input.withLock { $0.failure = $0.failure ?? error } }

    /// The arrival time of the last sample.
    var end: Double { max(0, output.withLock { $0.last } - start) }

    /// The kept samples, in decoding order.
    var samples: [SampleBuffer] { output.withLock { $0.samples } }

    /// Returns the record of the stream.
    func stream(_ statistics: SessionStatistics) -> StreamRecord.Stream {
        let input = input.withLock { $0 }
        let output = output.withLock { $0 }
        let start = start
        var digest = Digest()
        for sample in output.samples { sample.data.withUnsafeBytes { digest.add($0) } }
        return StreamRecord.Stream(
            handedOver: input.handedOver.map { $0 < 0 ? $0 : $0 - start },
            arrived: output.arrived.map { $0 < 0 ? $0 : $0 - start },
            sizes: output.sizes,
            keyFrames: output.keyFrames,
            creationTime: creationTime,
            copiedPictures: statistics.copiedPictures,
            droppedFrames: statistics.droppedFrames,
            failedEncoders: statistics.failedEncoders,
            repeatedFrames: statistics.repeatedFrames,
            digest: digest.text,
            failure: input.failure?.description
        )
    }
}

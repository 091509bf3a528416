// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import Synchronization
internal import VAAPI

/// The collecting thread's part: makes frames of what the driver has coded.
final class Collector: Sendable {
    private let output: @Sendable (EncoderOutput) -> Void
    private let state: Mutex<State>

    private struct State {
        var format: H264FormatTracker
        /// Where the stream tells its rate, from the first picture on.
        var clock: H264ReferenceDecoderClock?
        var hasBegun = false

        mutating func begin(_ setup: H264Setup) {
            if hasBegun { return }
            hasBegun = true
            clock = H264ReferenceDecoderClock(setup.stream.sequence, firstDelay: setup.device.rate.initialDelay)
        }
    }

    init(_ format: H264FormatTracker, _ output: @escaping @Sendable (EncoderOutput) -> Void) {
        self.output = output
        state = Mutex(State(format: format))
    }

    func take(
        _ job: PictureJob,
        _ segments: CodedSegments
    ) throws(MediaError) -> Pipeline<PictureJob>.Outcome {
        let status = try CodedPictureStatus(segments, job.coder.setup.device.quirks)
        if status.isOverflown { return .overflown }
        let unit = try H264AccessUnit(status.segments)
        guard unit.isIDR == job.picture.isIDR else {
            throw MediaError(
                .malformedData,
                "the driver has coded a picture of another kind",
                given: unit.isIDR ? "an IDR picture" : "no IDR picture",
                allowed: job.picture.isIDR ? "an IDR picture" : "no IDR picture"
            )
        }
        let frame = try state.withLock { (state) throws(MediaError) in
            state.begin(job.coder.setup)
            var frame = CodedFrame(
                number: job.picture.planned.number,
                data: try job.coded(unit, initialDelay: state.clock?.initialDelay),
                isKeyFrame: job.picture.isIDR,
                isReference: job.picture.planned.isReference
            )
            frame.formatDescription = try state.format.update(unit.parameterSets)
            // Lengths are as long as start codes. A byte stream has the sets before every key frame.
            let sets = job.picture.isIDR ? state.format.format.parameterSets.reduce(0) { $0 + 4 + $1.count } : 0
            state.clock?.add(bytes: frame.data.count + sets)
            return frame
        }
        output(.coded(frame))
        return .taken
    }
}

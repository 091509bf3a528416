// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import Synchronization
internal import VAAPI

/// The collecting side: creates frames from the driver's output.
final class Collector<Coder: PictureCoder>: Sendable {
    private let output: @Sendable (EncoderOutput) -> Void
    private let state: Mutex<State>

    private struct State {
        var format: FormatTracker<Coder.Stream>
        /// The reference decoder clock if the stream signals its rate, starting with the first picture.
        var clock: ReferenceDecoderClock?
        var hasBegun = false

        mutating func begin(_ setup: EncoderSetup<Coder.Stream>) {
            if hasBegun { return }
            hasBegun = true
            clock = setup.stream.decoderSchedule.map {
                ReferenceDecoderClock($0, firstDelay: setup.device.rate.initialDelay)
            }
        }
    }

    init(_ format: FormatTracker<Coder.Stream>, _ output: @escaping @Sendable (EncoderOutput) -> Void) {
        self.output = output
        state = Mutex(State(format: format))
    }

    func take(
        _ job: PictureJob<Coder>,
        _ segments: CodedSegments
    ) throws(MediaError) -> Pipeline<PictureJob<Coder>>.Outcome {
        let status = try CodedPictureStatus(segments, job.coder.setup.device.quirks)
        if status.isOverflown { return .overflown }
        let unit = try CodedAccessUnit(status.pieces, Coder.Stream.codec)
        guard unit.isIDR == job.picture.isIDR else {
            throw MediaError(
                .malformedData,
                "the driver coded a picture of the wrong type",
                given: unit.isIDR ? "an IDR picture" : "not an IDR picture",
                allowed: job.picture.isIDR ? "an IDR picture" : "not an IDR picture"
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
            // Length fields are as long as start codes. A byte stream has the parameter sets before every key frame.
            let sets = job.picture.isIDR ? state.format.format.parameterSets.reduce(0) { $0 + 4 + $1.count } : 0
            state.clock?.add(bytes: frame.data.count + sets)
            return frame
        }
        output(.coded(frame))
        return .taken
    }
}

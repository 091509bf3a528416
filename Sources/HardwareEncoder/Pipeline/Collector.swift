// SPDX-License-Identifier: GPL-2.0-or-later

internal import GOPPlanning
internal import MediaTypes
internal import Synchronization
internal import VAAPI

/// The collecting thread's part: makes frames of what the driver has coded.
final class Collector: Sendable {
    private let output: @Sendable (EncoderOutput) -> Void
    private let format: Mutex<H264FormatTracker>

    init(_ format: H264FormatTracker, _ output: @escaping @Sendable (EncoderOutput) -> Void) {
        self.output = output
        self.format = Mutex(format)
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
        var frame = CodedFrame(
            number: job.picture.planned.number,
            data: job.coded(unit),
            isKeyFrame: job.picture.isIDR,
            isReference: job.picture.planned.isReference
        )
        frame.formatDescription = try format.withLock { (format) throws(MediaError) in
            try format.update(unit.parameterSets)
        }
        output(.coded(frame))
        return .taken
    }
}

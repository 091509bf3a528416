// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The format description of an H.264 stream, by the parameter sets that come out of the driver.
///
/// A driver that takes no packed headers writes sets of its own, and it knows neither colours nor the exact order of
/// output. What no slice depends on, usability information and cropping, is put right in them: with that the stream says
/// what was asked for, whoever wrote it.
struct H264FormatTracker: Sendable {
    private(set) var format: FormatDescription

    private let stream: H264Stream
    /// The sets as the driver wrote them last.
    private var raw: [[UInt8]] = []

    init(_ stream: H264Stream) throws(MediaError) {
        self.stream = stream
        let configuration = stream.configuration
        format = FormatDescription(
            codec: .h264,
            width: configuration.width,
            height: configuration.height,
            parameterSets: try stream.parameterSets(),
            color: configuration.color ?? .unspecified,
            pixelAspectRatio: configuration.pixelAspectRatio ?? .one,
            attachments: PixelAttachments(
                masteringDisplay: configuration.masteringDisplay,
                contentLight: configuration.contentLight
            )
        )
    }

    /// Takes note of the sets of an access unit.
    ///
    /// - Returns: the new description, if it is another one.
    /// - Throws: `malformedData` if the sets cannot be read, or are those of pictures of another size.
    mutating func update(_ sets: [[UInt8]]) throws(MediaError) -> FormatDescription? {
        guard !sets.isEmpty, sets != raw else { return nil }
        let completed: [[UInt8]]
        do throws(BitstreamError) {
            completed = try sets.map { (set) throws(BitstreamError) in try self.completed(set) }
        } catch {
            throw MediaError(.malformedData, "the driver's parameter sets cannot be read: \(error)")
        }
        raw = sets
        guard completed != format.parameterSets else { return nil }
        format = FormatDescription(
            codec: .h264,
            width: format.width,
            height: format.height,
            parameterSets: completed,
            color: format.color,
            pixelAspectRatio: format.pixelAspectRatio,
            attachments: format.attachments
        )
        return format
    }

    private func completed(_ set: [UInt8]) throws(BitstreamError) -> [UInt8] {
        let header = try H264NALUnitHeader(nalUnit: set)
        guard header.nalUnitType == .sequenceParameterSet else { return set }
        var sequence = try H264SequenceParameterSet(nalUnit: set)
        let wanted = stream.sequence
        var usability = wanted.vui
        // The rates are those that the driver keeps to.
        usability?.nalHRD = sequence.vui?.nalHRD
        usability?.vclHRD = sequence.vui?.vclHRD
        if let vui = sequence.vui {
            usability?.lowDelayHrdFlag = vui.lowDelayHrdFlag
            usability?.picStructPresentFlag = vui.picStructPresentFlag
        }
        // A driver may keep more references than it was asked to; the buffer has to hold them (H.264 E.2.1).
        if let pictures = usability?.bitstreamRestriction?.maxDecFrameBuffering {
            usability?.bitstreamRestriction?.maxDecFrameBuffering = max(pictures, sequence.maxNumRefFrames)
        }
        sequence.vui = usability
        try sequence.setDisplaySize(
            PictureSize(width: stream.configuration.width, height: stream.configuration.height)
        )
        return try sequence.nalUnit()
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The format description of a stream, by the parameter sets that come out of the driver.
///
/// A driver that takes no packed headers writes sets of its own, and it knows neither colours nor the exact order of
/// output. What no slice depends on, usability information and cropping, is put right in them: with that the stream says
/// what was asked for, whoever wrote it.
struct FormatTracker<Stream: CodedStream>: Sendable {
    private(set) var format: FormatDescription

    private let stream: Stream
    /// The sets as the driver wrote them last.
    private var raw: [[UInt8]] = []

    init(_ stream: Stream) throws(MediaError) {
        self.stream = stream
        let configuration = stream.configuration
        format = FormatDescription(
            codec: Stream.codec,
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
            completed = try sets.map { (set) throws(BitstreamError) in try stream.completed(set) }
        } catch {
            throw MediaError(.malformedData, "the driver's parameter sets cannot be read: \(error)")
        }
        raw = sets
        guard completed != format.parameterSets else { return nil }
        format = FormatDescription(
            codec: Stream.codec,
            width: format.width,
            height: format.height,
            parameterSets: completed,
            color: format.color,
            pixelAspectRatio: format.pixelAspectRatio,
            attachments: format.attachments
        )
        return format
    }
}

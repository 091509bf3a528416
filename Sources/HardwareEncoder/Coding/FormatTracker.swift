// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The format description of a stream, updated with the parameter sets that the driver returns.
///
/// A driver without packed headers writes its own parameter sets, without knowing the colours or the exact output
/// order. The parts that no slice depends on, VUI and cropping, are corrected in them, so that the stream signals the
/// request regardless of who wrote it.
struct FormatTracker<Stream: CodedStream>: Sendable {
    private(set) var format: FormatDescription

    private let stream: Stream
    /// The latest parameter sets as written by the driver.
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

    /// Processes the parameter sets of an access unit.
    ///
    /// - Returns: The new description, if it has changed.
    /// - Throws: `malformedData` if the sets cannot be parsed, or belong to pictures of another size.
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

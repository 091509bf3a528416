// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
package import Logging
package import MediaTypes
internal import VideoDecoding

/// Writes pictures as PNG files: numbered ones, or one.
///
/// Pictures are upright, in full-range red, green and blue, or in grey levels if the stream has no chroma: with 8 bits, or
/// with 16 bits if the stream has more than 8. Size and format may change from picture to picture. Used by one thread at
/// a time.
package final class PNGWriter: PictureOutput {
    private let pattern: FileNamePattern
    private let files: NumberedFiles
    private let orientation: Orientation
    private let log: LogRoute?
    private var converter: RGBConverter?
    private var encoder: (format: Configuration, encoder: StillEncoder)?
    /// The format of the latest picture, and whether it has no chroma.
    private var described: (format: FormatDescription, isMonochrome: Bool)?
    private var hasPictures = false

    /// What an encoder is opened for.
    private struct Configuration: Equatable {
        var format: Int32
        var size: [Int32]
        var pixelAspectRatio: [Int32]

        init(_ frame: AVFrame) {
            format = frame.format
            size = [frame.width, frame.height]
            pixelAspectRatio = [frame.sample_aspect_ratio.num, frame.sample_aspect_ratio.den]
        }
    }

    /// FFmpeg's name of the pixel format of the first file, for example `rgb24`.
    package private(set) var samples: String?
    /// The matrix with which pictures were converted although the stream states none; `nil` if it does.
    package private(set) var assumedMatrix: ColorDescription.Matrix?

    /// Checks the output.
    ///
    /// - Parameters:
    ///   - pattern: The paths of the files.
    ///   - orientation: What makes the pictures upright.
    ///   - overwrite: Whether existing files may be replaced.
    ///   - inputPath: The file that is being read, which no output must be.
    ///   - logger: Receives FFmpeg's messages; `nil` leaves them to `MediaLog.logger`.
    /// - Throws: `invalidArgument` if the files cannot be created.
    package init(
        _ pattern: FileNamePattern,
        orientation: Orientation,
        overwrite: Bool,
        inputPath: String,
        cancellation: Cancellation,
        abandonment: Cancellation,
        logger: Logger?
    ) throws(MediaError) {
        MediaLog.install()
        log = LogRoute(logger)
        self.pattern = pattern
        self.orientation = orientation
        files = try NumberedFiles(
            pattern,
            overwrite: overwrite,
            inputPath: inputPath,
            cancellation: cancellation,
            abandonment: abandonment
        )
    }

    /// Whether there is a picture for the only file.
    package var isComplete: Bool { hasPictures && !pattern.hasNumber }

    package func write(_ picture: PixelBuffer, of format: FormatDescription) throws(MediaError) {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        let frame = try converter(for: picture, of: format).convert(picture)
        let configuration = Configuration(frame.frame.pointee)
        if encoder?.format != configuration {
            try finishEncoder()
            encoder = (configuration, try StillEncoder(for: frame, as: .png, log: log))
        }
        hasPictures = true
        try encoder?.encoder.encode(frame) { (bytes) throws(MediaError) in try files.write(bytes) }
    }

    private func converter(
        for picture: PixelBuffer,
        of format: FormatDescription
    ) throws(MediaError) -> RGBConverter {
        if described?.format !== format { described = (format, format.isMonochrome) }
        let configuration = RGBConverter.Configuration(
            picture,
            isMonochrome: described?.isMonochrome ?? false,
            orientation: orientation
        )
        if let converter, converter.configuration == configuration { return converter }
        let new = try RGBConverter(configuration, log: log)
        converter = new
        samples = samples ?? configuration.resultName
        assumedMatrix = assumedMatrix ?? configuration.assumedMatrix
        return new
    }

    package func finish() throws(MediaError) -> Int64 {
        try finishEncoder()
        try files.commit()
        return files.byteCount
    }

    private func finishEncoder() throws(MediaError) {
        try encoder?.encoder.encode(nil) { (bytes) throws(MediaError) in try files.write(bytes) }
        encoder = nil
    }
}

extension FormatDescription {
    /// Whether its pictures have no chroma, as its sequence parameter set states.
    fileprivate var isMonochrome: Bool {
        sequenceParameterSets.contains { unit in
            switch codec {
            case .h264: (try? H264SequenceParameterSet(nalUnit: unit))?.chromaFormatIdc == .monochrome
            case .hevc: (try? HEVCSequenceParameterSet(nalUnit: unit))?.chromaFormatIdc == .monochrome
            }
        }
    }
}

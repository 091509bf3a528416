// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VideoDecoding

/// Converts pictures of one kind to full-range red, green and blue, or to grey levels, and turns them upright. Thumbnails are
/// scaled as well.
///
/// Used from one thread at a time.
final class RGBConverter {
    /// The properties of the pictures. One that differs in any of them needs another converter.
    struct Configuration: Equatable {
        var format: PixelFormat
        var width: Int
        var height: Int
        var color: ColorDescription
        /// Whether the stream has no chroma, so that grey levels are wanted.
        var isMonochrome: Bool
        var orientation: Orientation
        /// What thumbnails become; `nil` for pictures in their own size and depth.
        var thumbnail: Thumbnail?

        init(_ picture: PixelBuffer, isMonochrome: Bool, orientation: Orientation) {
            format = picture.format
            (width, height) = (picture.width, picture.height)
            color = picture.color
            self.isMonochrome = isMonochrome
            self.orientation = orientation
        }
    }

    /// The size of thumbnails, and the format in which they are encoded.
    struct Thumbnail: Equatable {
        var width: Int
        var height: Int
        var format: StillFormat
    }

    let configuration: Configuration
    private let graph: FilterGraph

    /// - Throws: `unsupported` if the matrix is none with which libswscale converts; the errors of libavfilter.
    init(_ configuration: Configuration, log: LogRoute?) throws(MediaError) {
        self.configuration = configuration
        graph = try FilterGraph(
            try configuration.steps(),
            threads: 1,
            given: "\(configuration.format.ffmpegName) \(configuration.width)x\(configuration.height)",
            log: log
        )
    }

    /// Converts a picture.
    func convert(_ picture: PixelBuffer) throws(MediaError) -> FrameReference {
        let frame = try FrameReference(copying: picture)
        let ratio = picture.pixelAspectRatio
        frame.frame.pointee.sample_aspect_ratio = AVRational(num: ratio.numerator, den: ratio.denominator)
        frame.frame.pointee.pts = 0
        try graph.send(frame)
        guard let converted = try graph.receive() else {
            throw MediaError(.conversionFailed, "libavfilter returned no picture")
        }
        return converted
    }
}

extension RGBConverter.Configuration {
    /// FFmpeg's name of the pixel format of the result.
    var resultName: String {
        if let thumbnail { return thumbnail.format.pixelFormatName }
        return switch (isMonochrome, format.bitDepth > 8) {
        case (false, false): "rgb24"
        case (false, true): "rgb48be"
        case (true, false): "gray"
        case (true, true): "gray16be"
        }
    }

    /// The matrix that was chosen because the stream states none; `nil` if it states one, or none is needed.
    var assumedMatrix: ColorDescription.Matrix? {
        guard format.isYCbCr, !isMonochrome, color.matrix == .unspecified else { return nil }
        return ColorDescription.usualMatrix(width: width, height: height)
    }

    fileprivate func steps() throws(MediaError) -> [FilterGraph.Step] {
        [
            .init("buffer", "video_size=\(width)x\(height):pix_fmt=\(format.ffmpegName):time_base=1/1"),
            .init("scale", try scaling()), .init("format", "pix_fmts=\(resultName)"),
        ] + orientation.filters + [.init("buffersink")]
    }

    /// libswscale's names of the matrices by their code points.
    private static let matrixNames: [UInt8: String] = [
        1: "bt709", 4: "fcc", 5: "bt470", 6: "smpte170m", 7: "smpte240m", 9: "bt2020",
    ]

    private func scaling() throws(MediaError) -> String {
        let size = thumbnail.map { "w=\($0.width):h=\($0.height):" } ?? ""
        var common = "\(size)flags=bicubic+accurate_rnd+full_chroma_int:interl=-1:out_range=pc"
        // JFIF has the matrix of BT.601, and chroma between four samples of luma.
        if resultName == StillFormat.jpeg(quality: 1).pixelFormatName {
            common += ":out_color_matrix=smpte170m:out_h_chr_pos=128:out_v_chr_pos=128"
        }
        guard format.isYCbCr else { return common }
        var options = "\(common):in_range=\(color.range == .full ? "pc" : "tv")\(chromaLocation)"
        if isMonochrome { return options }
        let matrix = assumedMatrix.map(\.rawValue) ?? color.matrix.rawValue
        guard let name = Self.matrixNames[matrix] else {
            throw MediaError(
                .unsupported,
                "pictures with these matrix coefficients cannot be converted to red, green and blue",
                given: "\(matrix)",
                allowed: Self.matrixNames.keys.sorted().map(String.init).joined(separator: ", ") + " (ITU-T H.273)",
                remedies: ["write them without conversion: -o NAME.y4m"]
            )
        }
        options += ":in_color_matrix=\(name)"
        return options
    }

    /// Where chroma is located, in 256ths of a luma sample. H.264 and HEVC have it at the left, and that of 4:2:0 between
    /// two rows, unless they state another place for 4:2:0. For that row, libswscale's default also knows fields.
    private var chromaLocation: String {
        switch format.chromaFormat {
        case .yuv420:
            let location = (color.chromaLocation ?? .left).rawValue
            let row = [2: ":in_v_chr_pos=0", 3: ":in_v_chr_pos=0", 4: ":in_v_chr_pos=256", 5: ":in_v_chr_pos=256"]
            return ":in_h_chr_pos=\([1, 3, 5].contains(location) ? 128 : 0)" + (row[Int(location)] ?? "")
        case .yuv422: return ":in_h_chr_pos=0"
        case .yuv444, .monochrome: return ""
        }
    }
}

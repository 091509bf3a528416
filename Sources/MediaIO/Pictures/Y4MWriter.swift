// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLinux
internal import Glibc
package import MediaTypes

/// Writes uncompressed pictures as YUV4MPEG2, the format of `yuv4mpeg(5)` that encoders and measuring tools read.
///
/// It has one picture size, one pixel format and one frame rate, and no times. Used by one thread at a time.
package final class Y4MWriter: PictureOutput {
    /// What the header says.
    private struct Header: Equatable {
        var width: Int
        var height: Int
        var space: String
        var range: ColorDescription.Range
        var aspectRatio: Rational
    }

    private let file: OutputFile
    private let frameRate: Rational
    private var header: Header?

    /// `false`: a file has any number of pictures.
    package var isComplete: Bool { false }

    /// Opens an output.
    ///
    /// - Parameters:
    ///   - path: The file, or `-` for standard output.
    ///   - frameRate: The frame rate of the header, in frames per second.
    ///   - overwrite: Whether an existing file may be replaced.
    ///   - inputPath: The file that is being read, which the output must not be.
    /// - Throws: `invalidArgument` or `inputOutput` if the file cannot be created; `cancelled`.
    package init(
        path: String,
        frameRate: Rational,
        overwrite: Bool,
        inputPath: String,
        cancellation: Cancellation,
        abandonment: Cancellation
    ) throws(MediaError) {
        let target = try OutputTarget(path: path, overwrite: overwrite, inputPaths: [inputPath])
        file = try OutputFile(target, cancellation: cancellation, abandonment: abandonment)
        self.frameRate = frameRate
    }

    /// Writes a picture.
    ///
    /// - Throws: `unsupported` if its format has no name in YUV4MPEG2, or differs from that of the first picture;
    ///   `inputOutput`.
    package func write(_ picture: PixelBuffer, of format: FormatDescription) throws(MediaError) {
        let header = try Self.header(of: picture)
        if let first = self.header, first != header {
            throw MediaError(
                .unsupported,
                "the pictures change, which YUV4MPEG2 cannot express",
                given: "\(header.width)x\(header.height) \(header.space)",
                allowed: "\(first.width)x\(first.height) \(first.space)",
                remedies: ["decode the parts one by one: --start and --duration"]
            )
        }
        if self.header == nil {
            self.header = header
            try file.write(Array(text(header).utf8))
        }
        try file.write(Array("FRAME\n".utf8))
        let target = SampleArrangement.planar(picture.format.chromaFormat, bitDepth: picture.format.bitDepth)
        guard picture.format.arrangement == target else { return try file.write(picture.planarSamples()) }
        try picture.withPlanes { (planes) throws(MediaError) in
            for (plane, extent) in zip(planes, picture.planeExtents) { try write(plane, extent) }
        }
    }

    /// Completes the file, and gives it its name.
    ///
    /// - Returns: Its size in bytes.
    package func finish() throws(MediaError) -> Int64 { try file.commit() }

    private func write(_ plane: PixelPlane, _ extent: PlaneExtent) throws(MediaError) {
        if plane.bytesPerRow == extent.bytesPerRow {
            let bytes = UnsafeRawBufferPointer(start: plane.baseAddress, count: extent.bytesPerRow * extent.rows)
            return try file.write(bytes)
        }
        var rows = (0..<extent.rows).map { row in
            iovec(iov_base: plane.baseAddress + row * plane.bytesPerRow, iov_len: extent.bytesPerRow)
        }
        try file.write(&rows)
    }

    private func text(_ header: Header) -> String {
        var text = "YUV4MPEG2 W\(header.width) H\(header.height) F\(frameRate.numerator):\(frameRate.denominator) Ip"
        text += " A\(header.aspectRatio.numerator):\(header.aspectRatio.denominator) C\(header.space)"
        switch header.range {
        case .full: text += " XCOLORRANGE=FULL"
        case .limited: text += " XCOLORRANGE=LIMITED"
        default: break
        }
        return text + "\n"
    }

    private static func header(of picture: PixelBuffer) throws(MediaError) -> Header {
        guard picture.format.isYCbCr, let space = space(of: picture) else {
            throw MediaError(
                .unsupported,
                "YUV4MPEG2 has no such pixel format",
                given: picture.format.rawValue,
                allowed: "luma and chroma"
            )
        }
        return Header(
            width: picture.width,
            height: picture.height,
            space: space,
            range: picture.color.range,
            aspectRatio: picture.pixelAspectRatio
        )
    }

    /// The names that FFmpeg reads as well; that of 8-bit 4:2:0 states where chroma is located.
    private static func space(of picture: PixelBuffer) -> String? {
        let format = picture.format
        let depth = format.bitDepth > 8 ? "p\(format.bitDepth)" : ""
        switch format.chromaFormat {
        case .yuv420 where format.bitDepth == 8:
            switch picture.color.chromaLocation {
            case .center?: return "420jpeg"
            case .topLeft?: return "420paldv"
            default: return "420mpeg2"
            }
        case .yuv420: return "420" + depth
        case .yuv422: return "422" + depth
        case .yuv444: return "444" + depth
        case .monochrome: return nil
        }
    }
}

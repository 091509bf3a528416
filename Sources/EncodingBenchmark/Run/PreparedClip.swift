// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
package import MediaTypes
internal import PixelConversion

/// The uncompressed pictures of a clip in one size, in a file. They are prepared once, read by every run before its
/// measurement, and compared with decoded streams.
package struct PreparedClip: Codable, Sendable, Hashable {
    /// The source.
    package var clip: BenchmarkClip
    /// The width and height.
    package var size: BenchmarkSize
    /// The frame rate.
    package var frameRate: BenchmarkFrameRate
    /// The bit depth: 8 for I420, 10 for P010.
    package var bitDepth: Int
    /// The colour as H.273 code points (primaries, transfer, matrix) and whether the range is full.
    package var color: ColorCodes
    /// The pictures in the file, and their mapping to the frames of a run.
    package var loop: PictureLoop
    /// The number of frames per run.
    package var frames: Int
    /// The path of the file: picture after picture, plane after plane, without padding.
    package var path: String
    /// The digest of the file, with the prefix `fnv1a64:`.
    package var digest: String

    /// A colour description as H.273 code points.
    package struct ColorCodes: Codable, Sendable, Hashable {
        package var primaries: UInt8
        package var transfer: UInt8
        package var matrix: UInt8
        package var isFullRange: Bool

        package init(_ color: ColorDescription) {
            primaries = color.primaries.rawValue
            transfer = color.transfer.rawValue
            matrix = color.matrix.rawValue
            isFullRange = color.range == .full
        }

        package var description: ColorDescription {
            ColorDescription(
                primaries: .init(rawValue: primaries),
                transfer: .init(rawValue: transfer),
                matrix: .init(rawValue: matrix),
                range: isFullRange ? .full : .limited
            )
        }
    }

    /// The pixel format of its pictures.
    package var format: PixelFormat { Self.format(bitDepth: bitDepth) }

    /// Returns the pixel format in the file for a bit depth.
    package static func format(bitDepth: Int) -> PixelFormat { bitDepth > 8 ? .p010 : .i420 }

    /// The name of ``format`` in FFmpeg.
    package var formatName: String { bitDepth > 8 ? "p010le" : "yuv420p" }

    /// Returns the size in bytes of a picture.
    package static func pictureBytes(_ size: BenchmarkSize, bitDepth: Int) -> Int {
        size.width * size.height * 3 / 2 * (bitDepth > 8 ? 2 : 1)
    }

    /// Reads the pictures, one after another.
    ///
    /// - Parameter take: Receives a picture, whose samples are still in the file, and its index.
    /// - Throws: Any error of reading; `malformedData` if pictures are missing; any error that `take` throws.
    package func read(_ take: (PixelBuffer, Int) throws(MediaError) -> Void) throws(MediaError) {
        let raw = MediaSource.RawVideo(
            pixelFormat: formatName,
            width: size.width,
            height: size.height,
            frameRate: frameRate.value
        )
        let source = try MediaSource(path: path, options: MediaSource.Options(format: nil, rawVideo: raw))
        source.leavePicturesInFile()
        var index = 0
        while index < loop.count, let event = try source.next() {
            guard case .frame(let frame) = event else { continue }
            try take(frame.buffer, index)
            index += 1
        }
        guard index == loop.count else {
            throw MediaError(.malformedData, "a prepared clip has too few pictures", given: "\(index) of \(loop.count)")
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
package import MediaTypes
internal import PixelConversion

/// The pictures of a clip in one size, uncompressed in a file: made once, read by every run before its timed part, and what
/// decoded streams are compared with.
package struct PreparedClip: Codable, Sendable, Hashable {
    /// What it is made of.
    package var clip: BenchmarkClip
    /// Width and height.
    package var size: BenchmarkSize
    /// At which rate its frames are shown.
    package var frameRate: BenchmarkFrameRate
    /// Bits of a sample: 8 for I420, 10 for P010.
    package var bitDepth: Int
    /// What samples mean, as four numbers of H.273: primaries, transfer, matrix; and whether the range is full.
    package var color: ColorCodes
    /// The pictures that the file has, and how they stand for the frames of a run.
    package var loop: PictureLoop
    /// Frames of a run.
    package var frames: Int
    /// The file: picture after picture, plane after plane, without padding.
    package var path: String
    /// `fnv1a64:` and the digest of the file.
    package var digest: String

    /// Colour by its numbers in H.273.
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

    /// How its pictures lie in memory.
    package var format: PixelFormat { Self.format(bitDepth: bitDepth) }

    /// How pictures of a bit depth lie in the file.
    package static func format(bitDepth: Int) -> PixelFormat { bitDepth > 8 ? .p010 : .i420 }

    /// The name of ``format`` in FFmpeg.
    package var formatName: String { bitDepth > 8 ? "p010le" : "yuv420p" }

    /// Bytes of a picture of a size and bit depth.
    package static func pictureBytes(_ size: BenchmarkSize, bitDepth: Int) -> Int {
        size.width * size.height * 3 / 2 * (bitDepth > 8 ? 2 : 1)
    }

    /// Reads the pictures, one after the other.
    ///
    /// - Parameter take: Takes a picture whose samples are still in the file, and its index.
    /// - Throws: What reading throws; `malformedData` if pictures are missing; what `take` throws.
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

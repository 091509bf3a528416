// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaIO
package import MediaTypes
internal import PixelConversion

extension PreparedClip {
    /// Generates or decodes the pictures of a clip into a file. This is not part of the measurement.
    ///
    /// - Parameters:
    ///   - clip: The clip.
    ///   - size: The size of the pictures; those of a file are fitted with bars.
    ///   - plan: The plan, with the frame rate, number of frames, bit depth and picture memory.
    ///   - path: The output file.
    ///   - isStopped: Returns whether to stop.
    /// - Throws: Any error of reading and converting; `malformedData` for a file with fewer than two pictures;
    ///   `cancelled`.
    package static func prepare(
        _ clip: BenchmarkClip,
        _ size: BenchmarkSize,
        _ plan: BenchmarkPlan,
        path: String,
        isStopped: () -> Bool = { false }
    ) throws(MediaError) -> PreparedClip {
        let bytes = pictureBytes(size, bitDepth: plan.bitDepth)
        let wanted = PictureLoop.pictureCount(frames: plan.frames, bytes: bytes, limit: plan.pictureMemory)
        var file = try RawPictureFile(path: path)
        var (count, color) = (0, ColorDescription.bt709)
        func append(_ picture: PixelBuffer) throws(MediaError) {
            if isStopped() { throw MediaError(.cancelled, "the benchmark was interrupted") }
            try file.append(picture)
            color = picture.color
            count += 1
        }
        switch clip {
        case .generated(let content):
            let generated = try GeneratedClip(
                content,
                size: size,
                frameRate: plan.frameRate.value,
                bitDepth: plan.bitDepth
            )
            while count < wanted { try append(try generated.picture(count)) }
        case .file(let input):
            let source = try MediaSource(path: input)
            let output = PixelBuffer.Description(
                format: format(bitDepth: plan.bitDepth),
                width: size.width,
                height: size.height,
                color: source.video.color.coded(
                    from: source.video.pixelFormat,
                    width: size.width,
                    height: size.height
                )
            )
            let converter = try PixelConverter(output: output)
            while count < wanted, let event = try source.next() {
                guard case .frame(let frame) = event else { continue }
                try append(try converter.convert(frame.buffer))
            }
        }
        guard count >= 2 else {
            throw MediaError(.malformedData, "a clip has too few pictures", given: clip.text, allowed: "two or more")
        }
        return PreparedClip(
            clip: clip,
            size: size,
            frameRate: plan.frameRate,
            bitDepth: plan.bitDepth,
            color: ColorCodes(color),
            loop: PictureLoop(count: count),
            frames: plan.frames,
            path: path,
            digest: file.digest
        )
    }
}

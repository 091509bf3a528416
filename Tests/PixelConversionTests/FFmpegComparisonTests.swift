// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import PixelConversion
import Testing

/// Pictures of FFmpeg's test source, converted here and by FFmpeg's scale filter.
@Suite struct FFmpegComparisonTests {
    /// Runs `ffmpeg -f lavfi -i testsrc2=size=WxH,format=rgb24 -vf FILTER -frames:v 1 -f rawvideo -pix_fmt FORMAT -`.
    private func ffmpeg(_ filter: String, _ format: PixelFormat, _ width: Int, _ height: Int) throws -> Picture {
        let names: [PixelFormat: String] = [
            .nv12: "nv12", .i420: "yuv420p", .p010: "p010le", .bgra: "bgra", .yuy2: "yuyv422",
        ]
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=640x360,format=rgb24", "-vf",
            filter,
            "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", try #require(names[format]), "-",
        ]
        process.standardOutput = output
        try process.run()
        let bytes = [UInt8](try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        var picture = Picture(format, width, height)
        try #require(bytes.count == picture.planes.map(\.count).reduce(0, +))
        var start = 0
        for plane in picture.planes.indices {
            let count = picture.planes[plane].count
            picture.planes[plane] = Array(bytes[start..<start + count])
            start += count
        }
        return picture
    }

    /// Peak signal-to-noise ratio of luma and of chroma, in decibels.
    private func ratios(_ left: Picture, _ right: Picture) -> (luma: Double, chroma: Double) {
        var (luma, chroma) = (0, 0)
        for y in 0..<left.height {
            for x in 0..<left.width {
                let difference = left.luma(x, y) - right.luma(x, y)
                luma += difference * difference
            }
        }
        for y in 0..<left.chromaHeight {
            for x in 0..<left.chromaWidth {
                let (a, b) = (left.chroma(x, y), right.chroma(x, y))
                chroma += (a.cb - b.cb) * (a.cb - b.cb) + (a.cr - b.cr) * (a.cr - b.cr)
            }
        }
        let peak = Double(1 << left.format.bitDepth) - 1
        func decibels(_ sum: Int, _ count: Int) -> Double {
            10 * log10(peak * peak * Double(count) / max(Double(sum), 1e-9))
        }
        return (
            decibels(luma, left.width * left.height), decibels(chroma, 2 * left.chromaWidth * left.chromaHeight)
        )
    }

    @Test(arguments: [PixelFormat.nv12, .p010, .bgra], [PixelFormat.i420, .p010])
    func colourAgreesAtTheSameSize(source: PixelFormat, target: PixelFormat) throws {
        let from = "scale=out_color_matrix=bt601:out_range=tv:flags=bicubic+accurate_rnd+full_chroma_int"
        let change = "scale=in_color_matrix=bt601:in_range=tv:out_color_matrix=bt709:out_range=pc:flags=accurate_rnd"
        let picture = try ffmpeg(source == .bgra ? "null" : from, source, 640, 360)
        let isRGB = source == .bgra
        let expected = try ffmpeg(
            isRGB
                ? "scale=out_color_matrix=bt709:out_range=pc:flags=area+accurate_rnd"
                : from + ",format=yuv420p," + change,
            target,
            640,
            360
        )
        let wanted = ColorDescription(matrix: .bt709, range: .full)
        let result = try convert(picture, color: isRGB ? .sRGB : .bt601, to: target, wanted: wanted)
        let ratios = ratios(result.picture, expected)
        // FFmpeg converts between matrices by way of 8-bit RGB (41 to 43 dB seen), from RGB directly (53 dB and more).
        #expect(ratios.luma > (isRGB ? 50 : 40))
        #expect(ratios.chroma > (isRGB ? 50 : 38))
    }

    @Test(arguments: [PixelFormat.i420, .p010, .bgra], [(320, 180), (426, 240), (1280, 720)])
    func scalingAgrees(format: PixelFormat, size: (width: Int, height: Int)) throws {
        let color = "out_color_matrix=bt601:out_range=tv:in_color_matrix=bt601:in_range=tv"
        let picture = try ffmpeg(format == .bgra ? "null" : "scale=\(color)", format, 640, 360)
        let filter = size.width * 2 <= 640 ? "area" : "bilinear"
        let expected = try ffmpeg(
            "format=yuv420p,scale=\(size.width):\(size.height):\(color):flags=\(filter)",
            .nv12,
            size.width,
            size.height
        )
        let output = PixelBuffer.Description(format: .nv12, width: size.width, height: size.height, color: .bt601)
        let result = try PixelConverter(output: output)
            .convert(picture.buffer(color: format == .bgra ? .sRGB : .bt601))
        let ratios = ratios(try Picture(result), expected)
        // Between half and full size the filters differ: libyuv's looks at two samples, FFmpeg's at three.
        let isSameFilter = filter == "area" || size.width > 640
        #expect(ratios.luma > (isSameFilter ? 50 : 39))
        #expect(ratios.chroma > (isSameFilter ? 45 : 39), "\(ratios)")
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import Testing

/// Where samples lie in memory, as va.h describes its formats of surfaces.
@Suite struct SampleArrangementTests {
    /// A surface format, and what its memory has to be for samples of one pair of pixels.
    struct Surface: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let arrangement: SampleArrangement
        /// FFmpeg's name for the same memory.
        let ffmpegName: String
        /// The bytes of two pixels next to each other, by va.h.
        let bytes: @Sendable (_ y: (Int, Int), _ cb: (Int, Int), _ cr: (Int, Int)) -> [UInt8]
    }

    private static func words(_ values: Int...) -> [UInt8] {
        values.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    private static func word32(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    static let surfaces: [Surface] = [
        Surface(testDescription: "YUY2", arrangement: .packed422(bitDepth: 8), ffmpegName: "yuyv422") { y, cb, cr in
            [UInt8(y.0), UInt8(cb.0), UInt8(y.1), UInt8(cr.0)]
        },
        Surface(testDescription: "Y210", arrangement: .packed422(bitDepth: 10), ffmpegName: "y210le") { y, cb, cr in
            words(y.0 << 6, cb.0 << 6, y.1 << 6, cr.0 << 6)
        },
        Surface(testDescription: "Y212", arrangement: .packed422(bitDepth: 12), ffmpegName: "y212le") { y, cb, cr in
            words(y.0 << 4, cb.0 << 4, y.1 << 4, cr.0 << 4)
        },
        Surface(testDescription: "AYUV", arrangement: .ayuv, ffmpegName: "vuya") { y, cb, cr in
            [UInt8(cr.0), UInt8(cb.0), UInt8(y.0), 255, UInt8(cr.1), UInt8(cb.1), UInt8(y.1), 255]
        },
        Surface(testDescription: "Y410", arrangement: .y410, ffmpegName: "xv30le") { y, cb, cr in
            word32(3 << 30 | cr.0 << 20 | y.0 << 10 | cb.0) + word32(3 << 30 | cr.1 << 20 | y.1 << 10 | cb.1)
        },
        Surface(testDescription: "Y412", arrangement: .y412, ffmpegName: "xv36le") { y, cb, cr in
            words(cb.0 << 4, y.0 << 4, cr.0 << 4, 4095 << 4, cb.1 << 4, y.1 << 4, cr.1 << 4, 4095 << 4)
        },
    ]

    private static let (width, height) = (34, 6)

    /// Planes of random samples, and their bytes one plane after the other as FFmpeg has them.
    private func randomPicture(_ chroma: ChromaFormat, bitDepth: Int) throws -> PixelBuffer {
        let format = try #require(
            PixelFormat.allCases.first {
                $0.planeCount == 3 && $0.chromaFormat == chroma && $0.bitDepth == bitDepth
            }
        )
        let buffer = try PixelBuffer(.init(format: format, width: Self.width, height: Self.height))
        try buffer.withPlanes { planes throws(MediaError) in
            for component in components(format.arrangement, planes).planes {
                for row in 0..<component.height {
                    for column in 0..<component.width {
                        component.part(x: column, y: row, width: 1, height: 1)
                            .fill(.random(in: 0..<1 << bitDepth), bitDepth: bitDepth)
                    }
                }
            }
        }
        return buffer
    }

    private func components(_ arrangement: SampleArrangement, _ planes: [PixelPlane]) -> PictureComponents {
        PictureComponents(arrangement, width: Self.width, height: Self.height, planes: planes)
    }

    private func sample(_ plane: PixelPlane, _ x: Int, _ y: Int, size: Int) -> Int {
        let place = plane.baseAddress + y * plane.bytesPerRow + x * size
        return size == 1 ? Int(place.load(as: UInt8.self)) : Int(place.load(as: UInt16.self))
    }

    /// What a surface's memory becomes, tightly packed, and what it has to be.
    private func packed(_ buffer: PixelBuffer, _ surface: Surface) throws -> (found: [UInt8], expected: [UInt8]) {
        let extent = try #require(surface.arrangement.extent(ofPlane: 0, width: Self.width, height: Self.height))
        var found = [UInt8](repeating: 0xEE, count: extent.bytesPerRow * extent.rows)
        var expected: [UInt8] = []
        try buffer.withPlanes { planes throws(MediaError) in
            found.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                components(buffer.format.arrangement, planes).write(
                    to: components(
                        surface.arrangement,
                        [PixelPlane(baseAddress: base, bytesPerRow: extent.bytesPerRow)]
                    )
                )
            }
            let size = buffer.format.bytesPerSample
            let across = buffer.format.chromaFormat.horizontalSubsampling
            for y in 0..<Self.height {
                for x in stride(from: 0, to: Self.width, by: 2) {
                    func pair(_ plane: Int, _ step: Int) -> (Int, Int) {
                        let first = sample(planes[plane], x / step, y, size: size)
                        return (first, sample(planes[plane], (x + 1) / step, y, size: size))
                    }
                    expected += surface.bytes(pair(0, 1), pair(1, across), pair(2, across))
                }
            }
        }
        return (found, expected)
    }

    @Test(arguments: surfaces) func planesBecomeSurfacesOfVAAPI(surface: Surface) throws {
        let (chroma, depth) = (surface.arrangement.chromaFormat, surface.arrangement.bitDepth)
        let (found, expected) = try packed(randomPicture(chroma, bitDepth: depth), surface)
        #expect(found == expected)
    }

    @Test(arguments: surfaces) func surfacesBecomeThePlanesAgain(surface: Surface) throws {
        let (chroma, depth) = (surface.arrangement.chromaFormat, surface.arrangement.bitDepth)
        let buffer = try randomPicture(chroma, bitDepth: depth)
        var memory = try packed(buffer, surface).found
        let again = try PixelBuffer(buffer.pictureDescription)
        try again.withPlanes { planes throws(MediaError) in
            memory.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                let plane = PixelPlane(baseAddress: base, bytesPerRow: bytes.count / Self.height)
                components(surface.arrangement, [plane]).write(to: components(buffer.format.arrangement, planes))
            }
        }
        #expect(try bytes(again) == bytes(buffer))
    }

    /// FFmpeg finds the same samples in the surface's memory, as far as it knows the format.
    @Test(arguments: surfaces) func ffmpegReadsTheSameSamples(surface: Surface) throws {
        let formats = try output(["ffmpeg", "-hide_banner", "-v", "error", "-pix_fmts"])
        let names = String(decoding: formats, as: UTF8.self).split(whereSeparator: \.isNewline)
            .filter { $0.hasPrefix("I") }.compactMap { $0.split(separator: " ").dropFirst().first }
        guard names.contains(Substring(surface.ffmpegName)) else { return }
        let (chroma, depth) = (surface.arrangement.chromaFormat, surface.arrangement.bitDepth)
        let buffer = try randomPicture(chroma, bitDepth: depth)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("surface-\(UUID().uuidString).raw")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(packed(buffer, surface).found).write(to: file)
        let planar = "yuv\(chroma == .yuv422 ? "422" : "444")p" + (depth > 8 ? "\(depth)le" : "")
        let decoded = try output([
            "ffmpeg", "-v", "error", "-nostdin", "-f", "rawvideo", "-pixel_format", surface.ffmpegName, "-video_size",
            "\(Self.width)x\(Self.height)", "-i", file.path, "-sws_flags", "accurate_rnd", "-f", "rawvideo", "-pix_fmt",
            planar, "-",
        ])
        #expect(try decoded == bytes(buffer))
    }

    /// The samples of planes, tightly packed.
    private func bytes(_ buffer: PixelBuffer) throws -> [UInt8] {
        var result: [UInt8] = []
        try buffer.withPlanes { planes throws(MediaError) in
            for (plane, extent) in zip(planes, buffer.planeExtents) {
                for row in 0..<extent.rows {
                    let start = plane.baseAddress + row * plane.bytesPerRow
                    result += UnsafeRawBufferPointer(start: start, count: extent.bytesPerRow)
                }
            }
        }
        return result
    }

    private func output(_ arguments: [String]) throws -> [UInt8] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let bytes = [UInt8](try pipe.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return bytes
    }
}

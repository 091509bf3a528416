// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

/// A reproducible source of random numbers (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The samples of a picture as tightly packed planes, comparable and independent of any pixel buffer.
struct Picture: Equatable {
    let format: PixelFormat
    let width: Int
    let height: Int
    var planes: [[UInt8]]

    /// A picture with all bytes zero.
    init(_ format: PixelFormat, _ width: Int, _ height: Int) {
        self.format = format
        self.width = width
        self.height = height
        planes = (0..<format.planeCount).map { plane in
            let extent = format.planeExtent(plane, width: width, height: height)
            return [UInt8](repeating: 0, count: (extent?.bytesPerRow ?? 0) * (extent?.rows ?? 0))
        }
    }

    /// A picture of random codes.
    static func random(_ format: PixelFormat, _ width: Int, _ height: Int, _ generator: inout SeededGenerator)
        -> Picture
    {
        var picture = Picture(format, width, height)
        for plane in picture.planes.indices {
            for index in picture.planes[plane].indices {
                picture.planes[plane][index] = .random(in: 0...255, using: &generator)
            }
            guard format.bytesPerSample == 2 else { continue }
            for index in stride(from: 0, to: picture.planes[plane].count, by: 2) {
                if format == .p010 {
                    picture.planes[plane][index] &= 0xC0
                } else {
                    picture.planes[plane][index + 1] &= UInt8((1 << (format.bitDepth - 8)) - 1)
                }
            }
        }
        return picture
    }

    /// A picture of one colour, codes of Y, Cb, Cr or of blue, green, red.
    static func solid(_ format: PixelFormat, _ width: Int, _ height: Int, _ codes: (Int, Int, Int)) -> Picture {
        var picture = Picture(format, width, height)
        for y in 0..<height {
            for x in 0..<width {
                if format == .bgra {
                    let start = 4 * (y * width + x)
                    picture.planes[0][start] = UInt8(codes.0)
                    picture.planes[0][start + 1] = UInt8(codes.1)
                    picture.planes[0][start + 2] = UInt8(codes.2)
                    picture.planes[0][start + 3] = 77
                } else {
                    picture.setLuma(x, y, codes.0)
                    picture.setChroma(x / picture.across, y / picture.down, codes.1, codes.2)
                }
            }
        }
        return picture
    }

    // MARK: Samples

    /// Luma samples for each chroma sample in a row and in a column.
    var across: Int { [.i444, .i410, .i412, .bgra].contains(format) ? 1 : 2 }
    var down: Int { [.nv12, .i420, .p010, .i012].contains(format) ? 2 : 1 }
    var chromaWidth: Int { (width + across - 1) / across }
    var chromaHeight: Int { (height + down - 1) / down }

    func luma(_ x: Int, _ y: Int) -> Int {
        switch format {
        case .yuy2: Int(planes[0][y * chromaWidth * 4 + 2 * x])
        case .bgra: 0
        default: sample(0, y * width + x)
        }
    }

    func chroma(_ x: Int, _ y: Int) -> (cb: Int, cr: Int) {
        let index = y * chromaWidth + x
        return switch format {
        case .nv12, .p010: (sample(1, 2 * index), sample(1, 2 * index + 1))
        case .yuy2: (Int(planes[0][4 * index + 1]), Int(planes[0][4 * index + 3]))
        case .bgra: (0, 0)
        default: (sample(1, index), sample(2, index))
        }
    }

    mutating func setLuma(_ x: Int, _ y: Int, _ code: Int) {
        switch format {
        case .yuy2: planes[0][y * chromaWidth * 4 + 2 * x] = UInt8(code)
        case .bgra: break
        default: setSample(0, y * width + x, code)
        }
    }

    mutating func setChroma(_ x: Int, _ y: Int, _ cb: Int, _ cr: Int) {
        let index = y * chromaWidth + x
        switch format {
        case .nv12, .p010:
            setSample(1, 2 * index, cb)
            setSample(1, 2 * index + 1, cr)
        case .yuy2: (planes[0][4 * index + 1], planes[0][4 * index + 3]) = (UInt8(cb), UInt8(cr))
        case .bgra: break
        default:
            setSample(1, index, cb)
            setSample(2, index, cr)
        }
    }

    /// Blue, green, red of a BGRA picture; beyond the edge the last column and row count.
    func bgr(_ x: Int, _ y: Int) -> [Double] {
        let start = 4 * (min(y, height - 1) * width + min(x, width - 1))
        return planes[0][start..<start + 3].map(Double.init)
    }

    /// Bits below a sample in its word.
    private var shift: Int { format == .p010 ? 6 : 0 }

    private func sample(_ plane: Int, _ index: Int) -> Int {
        guard format.bytesPerSample == 2 else { return Int(planes[plane][index]) }
        return (Int(planes[plane][2 * index]) | Int(planes[plane][2 * index + 1]) << 8) >> shift
    }

    private mutating func setSample(_ plane: Int, _ index: Int, _ code: Int) {
        guard format.bytesPerSample == 2 else { return planes[plane][index] = UInt8(code) }
        planes[plane][2 * index] = UInt8(truncatingIfNeeded: code << shift)
        planes[plane][2 * index + 1] = UInt8((code << shift) >> 8)
    }
}

// MARK: - To and from pixel buffers

extension Picture {
    /// The picture in memory of the caller, with `padding` poisoned bytes after each row and around each plane.
    func buffer(
        color: ColorDescription = .unspecified,
        pixelAspectRatio: Rational = .one,
        attachments: PixelAttachments = .init(),
        padding: Int = 0,
        poison: UInt8 = 0xA5
    ) throws -> PixelBuffer {
        var pixelPlanes: [PixelPlane] = []
        for (plane, content) in planes.enumerated() {
            let extent = try #require(format.planeExtent(plane, width: width, height: height))
            let bytesPerRow = extent.bytesPerRow + padding
            let byteCount = bytesPerRow * extent.rows + 2 * padding
            let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
            memory.initializeMemory(as: UInt8.self, repeating: poison, count: byteCount)
            let base = memory + padding
            content.withUnsafeBytes { content in
                guard let source = content.baseAddress else { return }
                for row in 0..<extent.rows {
                    (base + row * bytesPerRow)
                        .copyMemory(from: source + row * extent.bytesPerRow, byteCount: extent.bytesPerRow)
                }
            }
            pixelPlanes.append(PixelPlane(baseAddress: base, bytesPerRow: bytesPerRow))
        }
        return try PixelBuffer(
            .init(
                format: format,
                width: width,
                height: height,
                color: color,
                pixelAspectRatio: pixelAspectRatio,
                attachments: attachments
            ),
            planes: pixelPlanes
        ) { [pixelPlanes] in
            for plane in pixelPlanes { (plane.baseAddress - padding).deallocate() }
        }
    }

    /// The samples of a buffer.
    init(_ buffer: PixelBuffer) throws {
        var picture = Picture(buffer.format, buffer.width, buffer.height)
        try buffer.withPlanes { planes throws(MediaError) in
            for (plane, source) in planes.enumerated() {
                let extent = buffer.format.planeExtent(plane, width: buffer.width, height: buffer.height)
                guard let extent else { continue }
                picture.planes[plane].withUnsafeMutableBytes { target in
                    for row in 0..<extent.rows {
                        let bytes = UnsafeRawBufferPointer(
                            start: source.baseAddress + row * source.bytesPerRow,
                            count: extent.bytesPerRow
                        )
                        target.baseAddress.map {
                            UnsafeMutableRawBufferPointer(
                                start: $0 + row * extent.bytesPerRow,
                                count: extent.bytesPerRow
                            )
                            .copyMemory(from: bytes)
                        }
                    }
                }
            }
        }
        self = picture
    }
}

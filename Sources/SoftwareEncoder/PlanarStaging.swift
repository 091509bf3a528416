// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The planes of a picture that lie in memory otherwise than x265 reads them: chroma taken apart, and the samples of
/// ten-bit pictures in the lower bits of their words. It is reused from frame to frame.
final class PlanarStaging {
    let luma: UnsafeMutableRawPointer
    let cb: UnsafeMutableRawPointer
    let cr: UnsafeMutableRawPointer
    /// The bytes from a row to the next, of luma and of each chroma plane.
    let lumaBytesPerRow: Int
    let chromaBytesPerRow: Int

    private let width: Int
    private let height: Int
    private let memory: UnsafeMutableRawPointer

    /// - Parameters:
    ///   - width: Of the video in luma samples, even.
    ///   - height: The same.
    ///   - bytesPerSample: 1, or 2 for ten bits, whose luma is staged as well.
    init(width: Int, height: Int, bytesPerSample: Int) {
        self.width = width
        self.height = height
        lumaBytesPerRow = bytesPerSample == 1 ? 0 : (width * bytesPerSample + 63) / 64 * 64
        chromaBytesPerRow = (width / 2 * bytesPerSample + 63) / 64 * 64
        let (lumaSize, chromaSize) = (lumaBytesPerRow * height, chromaBytesPerRow * (height / 2))
        memory = .allocate(byteCount: lumaSize + 2 * chromaSize, alignment: 64)
        luma = memory
        cb = memory + lumaSize
        cr = cb + chromaSize
    }

    deinit { memory.deallocate() }

    /// Takes the chroma of an NV12 picture apart.
    func fill(interleavedChroma plane: PixelPlane) {
        for row in 0..<height / 2 {
            let source = plane.baseAddress + row * plane.bytesPerRow
            Self.takeApart(source, cb + row * chromaBytesPerRow, cr + row * chromaBytesPerRow, count: width / 2)
        }
    }

    /// Copies a P010 picture, moves its samples down and takes its chroma apart.
    func fill(p010Luma lumaPlane: PixelPlane, chroma chromaPlane: PixelPlane) {
        for row in 0..<height {
            let source = lumaPlane.baseAddress + row * lumaPlane.bytesPerRow
            TenBitStaging.shiftRow(from: source, to: luma + row * lumaBytesPerRow, samples: width)
        }
        for row in 0..<height / 2 {
            let source = chromaPlane.baseAddress + row * chromaPlane.bytesPerRow
            Self.takeApartShifted(source, cb + row * chromaBytesPerRow, cr + row * chromaBytesPerRow, count: width / 2)
        }
    }

    /// Four pairs of bytes at a time: the even bytes of a word move together, then the odd ones.
    private static func takeApart(
        _ source: UnsafeMutableRawPointer,
        _ first: UnsafeMutableRawPointer,
        _ second: UnsafeMutableRawPointer,
        count: Int
    ) {
        var index = 0
        while index + 4 <= count {
            let pairs = UInt64(littleEndian: source.loadUnaligned(fromByteOffset: 2 * index, as: UInt64.self))
            first.storeBytes(of: gathered(pairs).littleEndian, toByteOffset: index, as: UInt32.self)
            second.storeBytes(of: gathered(pairs >> 8).littleEndian, toByteOffset: index, as: UInt32.self)
            index += 4
        }
        while index < count {
            first.storeBytes(
                of: source.load(fromByteOffset: 2 * index, as: UInt8.self),
                toByteOffset: index,
                as: UInt8.self
            )
            let odd = source.load(fromByteOffset: 2 * index + 1, as: UInt8.self)
            second.storeBytes(of: odd, toByteOffset: index, as: UInt8.self)
            index += 1
        }
    }

    /// The even bytes of a word, next to each other.
    private static func gathered(_ word: UInt64) -> UInt32 {
        var bytes = word & 0x00FF_00FF_00FF_00FF
        bytes = (bytes | bytes >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: bytes | bytes >> 16)
    }

    private static func takeApartShifted(
        _ source: UnsafeMutableRawPointer,
        _ first: UnsafeMutableRawPointer,
        _ second: UnsafeMutableRawPointer,
        count: Int
    ) {
        for index in 0..<count {
            let pair = UInt32(littleEndian: source.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
            let even = UInt16(truncatingIfNeeded: pair >> 6 & 0x3FF)
            let odd = UInt16(truncatingIfNeeded: pair >> 22)
            first.storeBytes(of: even.littleEndian, toByteOffset: 2 * index, as: UInt16.self)
            second.storeBytes(of: odd.littleEndian, toByteOffset: 2 * index, as: UInt16.self)
        }
    }
}

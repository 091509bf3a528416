// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A P010 picture with samples in the lower ten bits of their words, as x264 reads them. The memory is reused from
/// frame to frame.
final class TenBitStaging {
    let luma: UnsafeMutableRawPointer
    let chroma: UnsafeMutableRawPointer
    let bytesPerRow: Int

    private let width: Int
    private let height: Int
    private let memory: UnsafeMutableRawPointer

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        bytesPerRow = (width * MemoryLayout<UInt16>.size + 63) / 64 * 64
        memory = .allocate(byteCount: bytesPerRow * (height + height / 2), alignment: 64)
        luma = memory
        chroma = memory + bytesPerRow * height
    }

    deinit { memory.deallocate() }

    /// Copies the two planes of a P010 picture and shifts their samples to the lower bits.
    func fill(luma lumaPlane: PixelPlane, chroma chromaPlane: PixelPlane) {
        for row in 0..<height {
            let source = lumaPlane.baseAddress + row * lumaPlane.bytesPerRow
            Self.shiftRow(from: source, to: luma + row * bytesPerRow, samples: width)
        }
        for row in 0..<height / 2 {
            let source = chromaPlane.baseAddress + row * chromaPlane.bytesPerRow
            Self.shiftRow(from: source, to: chroma + row * bytesPerRow, samples: width)
        }
    }

    /// Shifts the samples of a row to the lower bits, four at a time in one word; the mask removes bits of the adjacent
    /// sample.
    static func shiftRow(from source: UnsafeMutableRawPointer, to target: UnsafeMutableRawPointer, samples: Int) {
        let end = samples * MemoryLayout<UInt16>.size
        var offset = 0
        while offset + MemoryLayout<UInt64>.size <= end {
            let samples = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            target.storeBytes(of: samples >> 6 & 0x03FF_03FF_03FF_03FF, toByteOffset: offset, as: UInt64.self)
            offset += MemoryLayout<UInt64>.size
        }
        while offset < end {
            let sample = source.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
            target.storeBytes(of: sample >> 6, toByteOffset: offset, as: UInt16.self)
            offset += MemoryLayout<UInt16>.size
        }
    }
}

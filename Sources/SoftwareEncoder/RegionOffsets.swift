// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The quantizer offsets of each macroblock for regions of interest, as `x264_picture_t.prop.quant_offsets` requires
/// them: in raster order, in quantizer steps. The memory is reused from frame to frame.
final class RegionOffsets {
    private let columns: Int
    private let rows: Int
    private let offsets: UnsafeMutableBufferPointer<Float>

    /// Allocates the offsets.
    ///
    /// - Parameters:
    ///   - width: The width of the video in luma samples, at least 1.
    ///   - height: The height of the video in luma samples, at least 1.
    init(width: Int, height: Int) {
        columns = (width + 15) / 16
        rows = (height + 15) / 16
        offsets = .allocate(capacity: columns * rows)
    }

    deinit { offsets.deallocate() }

    /// The address of the offsets. x264 reads them only during `x264_encoder_encode`; it does not modify or free them.
    var baseAddress: UnsafeMutablePointer<Float>? { offsets.baseAddress }

    /// The offsets in raster order.
    var values: [Float] { Array(offsets) }

    /// Sets the offsets of every macroblock that a region touches. If two regions touch it, the first one applies.
    /// Parts outside of the video are ignored, and offsets are clamped to -51...51.
    func fill(_ regions: [RegionOfInterest]) {
        offsets.initialize(repeating: 0)
        for region in regions.reversed() {
            let offset = Float(min(max(region.quantizerOffset, -51), 51))
            let touched = Self.blocks(from: region.x, count: region.width, of: columns)
            for row in Self.blocks(from: region.y, count: region.height, of: rows) {
                for column in touched { offsets[row * columns + column] = offset }
            }
        }
    }

    /// Returns the blocks of 16 samples that a row or column of samples touches.
    private static func blocks(from start: Int, count: Int, of blocks: Int) -> Range<Int> {
        guard count > 0 else { return 0..<0 }
        let (sum, overflow) = start.addingReportingOverflow(count)
        let end = overflow ? Int.max : sum
        let first = min(max(start, 0) / 16, blocks)
        return first..<max(first, min(end > 0 ? (end - 1) / 16 + 1 : 0, blocks))
    }
}

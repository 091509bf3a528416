// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// Where the planes of a picture are in the data blocks of a buffer. A pure value.
struct PipeWireLayout: Sendable, Hashable {
    /// The part of a block that a plane, or all planes, take.
    struct Block: Sendable, Hashable {
        /// The offset of the first row in bytes.
        var offset: Int
        /// The length of a row in bytes; 0 if it is not stated.
        var bytesPerRow: Int
        /// The size of the block in bytes; `nil` if it is not known.
        var byteCount: Int?
    }

    /// The part of a picture that is valid, in luma samples.
    struct Crop: Sendable, Hashable {
        var (x, y, width, height) = (0, 0, 0, 0)
    }

    /// The planes; the object of each is the number of its block.
    let planes: [DMABuffer.Plane]
    let width: Int
    let height: Int

    /// Finds the planes.
    ///
    /// Several planes in one block follow each other. There, as GStreamer has it, luma has an even number of rows, and
    /// the rows of separate chroma planes are half as long. An odd edge of the valid part is moved to the even one
    /// before it, as far as samples of chroma are shared.
    ///
    /// - Parameters:
    ///   - crop: The valid part; all of the picture if `nil`.
    ///   - isTiled: Whether rows are not one after the other, so that planes cannot begin within them.
    /// - Throws: `malformedData` if the planes do not fit; `unsupported` for another number of blocks, rows from the
    ///   bottom to the top, or a part of a tiled picture that does not begin at its origin.
    init(
        _ format: PixelFormat,
        width: Int,
        height: Int,
        crop: Crop? = nil,
        blocks: [Block],
        isTiled: Bool = false
    ) throws(MediaError) {
        guard blocks.count == 1 || blocks.count == format.planeCount else {
            throw MediaError(
                .unsupported,
                "a picture of the source has another number of data blocks",
                given: "\(blocks.count)",
                allowed: format.planeCount == 1 ? "1" : "1 or \(format.planeCount)"
            )
        }
        if let block = blocks.first(where: { $0.bytesPerRow < 0 || $0.offset < 0 }) {
            throw MediaError(
                .unsupported,
                "the rows of a picture are stored from the bottom to the top",
                given: "\(block.bytesPerRow) bytes per row",
                allowed: "rows from the top to the bottom"
            )
        }
        var crop = crop ?? Crop(x: 0, y: 0, width: width, height: height)
        guard crop.x >= 0, crop.y >= 0, crop.width > 0, crop.height > 0, crop.x <= width - crop.width,
            crop.y <= height - crop.height
        else {
            throw MediaError(
                .malformedData,
                "the valid part of a picture is outside the picture",
                given: "\(crop.width)x\(crop.height)+\(crop.x)+\(crop.y)",
                allowed: "parts of \(width)x\(height)"
            )
        }
        let shared = (x: format.chromaFormat == .yuv444 ? 1 : 2, y: format.is420 ? 2 : 1)
        let odd = (x: crop.x % shared.x, y: crop.y % shared.y)
        crop = Crop(x: crop.x - odd.x, y: crop.y - odd.y, width: crop.width + odd.x, height: crop.height + odd.y)
        guard !isTiled || (crop.x == 0 && crop.y == 0) else {
            throw MediaError(
                .unsupported,
                "a part of a picture cannot be captured from a tiled DMA-BUF",
                given: "\(crop.width)x\(crop.height)+\(crop.x)+\(crop.y)",
                allowed: "parts at the origin, or pictures in shared memory"
            )
        }
        var planes: [DMABuffer.Plane] = []
        var next = blocks[0].offset
        for index in 0..<format.planeCount {
            let whole = try Self.extent(format, index, width, height)
            let valid = try Self.extent(format, index, crop.width, crop.height)
            let object = blocks.count == 1 ? 0 : index
            let block = blocks[object]
            var bytesPerRow = block.bytesPerRow == 0 ? whole.bytesPerRow : block.bytesPerRow
            if blocks.count == 1, index > 0, format == .i420 { bytesPerRow = (planes[0].layout.bytesPerRow + 1) / 2 }
            let first = blocks.count == 1 ? next : block.offset
            let step = index == 0 ? (x: 1, y: 1) : (x: format == .i420 ? 2 : 1, y: 2)
            let bytesPerSample = format == .bgra ? 4 : format == .yuy2 ? 2 : 1
            let offset = first + crop.y / step.y * bytesPerRow + crop.x / step.x * bytesPerSample
            let end = offset + (valid.rows - 1) * bytesPerRow + valid.bytesPerRow
            guard bytesPerRow >= whole.bytesPerRow, bytesPerRow <= PixelBuffer.maximumBytesPerRow,
                end <= block.byteCount ?? .max
            else {
                throw MediaError(
                    .malformedData,
                    "a picture of the source does not fit into its memory",
                    given: "\(width)x\(height) \(format.rawValue) with \(bytesPerRow) bytes per row",
                    allowed: block.byteCount.map { "\($0) bytes" }
                )
            }
            planes.append(
                DMABuffer.Plane(object: object, layout: PlaneLayout(offset: offset, bytesPerRow: bytesPerRow))
            )
            next = first + bytesPerRow * (format.is420 && index == 0 ? whole.rows + whole.rows % 2 : whole.rows)
        }
        (self.planes, self.width, self.height) = (planes, crop.width, crop.height)
    }

    private static func extent(
        _ format: PixelFormat,
        _ plane: Int,
        _ width: Int,
        _ height: Int
    ) throws(MediaError) -> PlaneExtent {
        guard let extent = format.planeExtent(plane, width: width, height: height) else {
            throw MediaError(.malformedData, "the size of a picture is out of range", given: "\(width)x\(height)")
        }
        return extent
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import MediaTypes

/// What is in a buffer that the source has filled. A pure value.
struct PipeWireContents {
    let contents: pipewire_picture
    let format: PipeWireFormat
    let kind: PipeWireMemory.Kind

    init(_ contents: pipewire_picture, _ format: PipeWireFormat, _ kind: PipeWireMemory.Kind) {
        (self.contents, self.format, self.kind) = (contents, format, kind)
    }

    init(_ buffer: PipeWireBuffers.Buffer) {
        var contents = pipewire_picture()
        pipewire_describe(buffer.raw, &contents)
        self.init(contents, buffer.format, buffer.memory.kind)
    }

    /// Whether the buffer has samples. A compositor sends others when only the cursor has moved; of DMA-BUFs, some
    /// state no size.
    var isPicture: Bool { kind == .dmaBuf || contents.blocks.0.filled > 0 }

    /// Whether there are samples, and the source does not say that they are damaged.
    var isUsable: Bool {
        let isDamaged = contents.blocks.0.flags & UInt32(SPA_CHUNK_FLAG_CORRUPTED) != 0
        let isMarked = contents.has_header != 0 && contents.header_flags & UInt32(SPA_META_HEADER_FLAG_CORRUPTED) != 0
        return isPicture && !isDamaged && !isMarked
    }

    /// The time that the source states, in nanoseconds.
    var time: Int64? { contents.has_header == 0 ? nil : contents.time }

    /// The number that the source states.
    var sequence: UInt64? { contents.has_header == 0 ? nil : contents.sequence }

    /// Where the planes are.
    ///
    /// - Throws: As the initialiser of the layout; `unsupported` if the picture is rotated or flipped.
    func layout() throws(MediaError) -> PipeWireLayout {
        guard contents.transform == SPA_META_TRANSFORMATION_None.rawValue else {
            throw MediaError(
                .unsupported,
                "the source delivers pictures that are rotated or flipped",
                given: "SPA_META_TRANSFORMATION \(contents.transform)",
                allowed: "pictures as they are shown",
                remedies: ["set the display or the camera to its normal orientation"]
            )
        }
        let crop =
            contents.crop_width == 0
            ? nil
            : PipeWireLayout.Crop(
                x: Int(contents.crop_x),
                y: Int(contents.crop_y),
                width: Int(contents.crop_width),
                height: Int(contents.crop_height)
            )
        return try PipeWireLayout(
            format.format,
            width: format.width,
            height: format.height,
            crop: crop,
            blocks: try contents.used().map { block in
                PipeWireLayout.Block(
                    offset: Int(block.offset),
                    bytesPerRow: Int(block.bytes_per_row),
                    byteCount: kind == .dmaBuf ? nil : Int(block.byte_count)
                )
            },
            isTiled: kind == .dmaBuf && (format.modifier ?? 0) != 0
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import MediaTypes
internal import VAAPI

/// The driver's status of a coded picture.
struct CodedPictureStatus {
    /// The segments that contain data.
    let pieces: [CodedPiece]
    /// Whether the picture did not fit the coded buffer.
    let isOverflown: Bool

    /// Evaluates the segments.
    ///
    /// - Parameter quirks: Describes which status bits of the driver have no meaning.
    /// - Throws: `frameFailed` if nothing was coded, except because of a small buffer. Drivers report a failure by an
    ///   empty picture, with or without a status.
    init(_ coded: CodedSegments, _ quirks: Quirks = Quirks()) throws(MediaError) {
        var pieces: [CodedPiece] = []
        var count = 0
        var status: UInt32 = 0
        var isCut = false
        for segment in coded {
            let told = segment.status & quirks.statusMask
            status |= told
            isCut = isCut || segment.size > segment.bytes.count
            let isUnused = quirks.fullBufferIsUnused && segment.size == coded.capacity
            if segment.bytes.isEmpty || isUnused { continue }
            let isSingleUnit = told & UInt32(VA_CODED_BUF_STATUS_SINGLE_NALU) != 0
            pieces.append(CodedPiece(bytes: segment.bytes, isSingleUnit: isSingleUnit))
            count += segment.bytes.count
            // The size exceeds the buffer: the segments that the driver reports cannot be correct.
            if count > coded.capacity { isCut = true }
        }
        self.pieces = pieces
        isOverflown = isCut || status & UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK) != 0
        let isBad = status & UInt32(VA_CODED_BUF_STATUS_BAD_BITSTREAM) != 0
        guard !isOverflown, isBad || pieces.isEmpty else { return }
        throw MediaError(
            .frameFailed,
            isBad ? "the driver reports an invalid coded picture" : "the driver returned an empty coded picture",
            given: "status 0x\(String(status, radix: 16)), \(count) bytes"
        )
    }
}

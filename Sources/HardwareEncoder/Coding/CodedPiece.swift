// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// One segment of a coded picture (`VACodedBufferSegment`), in the driver's memory.
struct CodedPiece {
    /// The bytes. A driver may end a segment anywhere, even within a start code or a slice.
    var bytes: UnsafeRawBufferPointer
    /// Whether the segment is one complete NAL unit, with or without a start code (`VA_CODED_BUF_STATUS_SINGLE_NALU`).
    var isSingleUnit = false
}

/// The segments of a coded picture as byte streams. Consecutive segments form one stream, unless the driver marks a
/// segment as one NAL unit.
///
/// The streams refer to the driver's memory, or to memory of this object if several segments were joined. They are
/// valid while both exist.
final class CodedStreams {
    /// A byte stream (H.264 and HEVC Annex B), or a NAL unit without a start code.
    enum Part {
        case stream(UnsafeRawBufferPointer)
        case bareUnit(UnsafeRawBufferPointer)
    }

    /// The parts, in order.
    let parts: [Part]
    private let joined: [UnsafeMutableRawBufferPointer]

    init(_ pieces: [CodedPiece]) {
        var parts: [Part] = []
        var joined: [UnsafeMutableRawBufferPointer] = []
        var position = pieces.startIndex
        while position < pieces.endIndex {
            if pieces[position].isSingleUnit {
                parts.append(Self.singleUnit(pieces[position].bytes))
                position += 1
                continue
            }
            let end = pieces[position...].firstIndex(where: \.isSingleUnit) ?? pieces.endIndex
            if end - position == 1 {
                parts.append(.stream(pieces[position].bytes))
            } else {
                let memory = Self.join(pieces[position..<end])
                joined.append(memory)
                parts.append(.stream(UnsafeRawBufferPointer(memory)))
            }
            position = end
        }
        self.parts = parts
        self.joined = joined
    }

    deinit {
        for memory in joined { memory.deallocate() }
    }

    /// A NAL unit never begins with the bytes of a start code, because of `forbidden_zero_bit` and the unit types of
    /// both codecs, and never ends with a zero byte (H.264 7.4.1, HEVC 7.4.2).
    private static func singleUnit(_ bytes: UnsafeRawBufferPointer) -> Part {
        if NALUnitFraming.hasStartCode(bytes) { return .stream(bytes) }
        let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        return .bareUnit(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
    }

    private static func join(_ pieces: ArraySlice<CodedPiece>) -> UnsafeMutableRawBufferPointer {
        let count = pieces.reduce(0) { $0 + $1.bytes.count }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        var offset = 0
        for piece in pieces {
            UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyMemory(from: piece.bytes)
            offset += piece.bytes.count
        }
        return memory
    }
}

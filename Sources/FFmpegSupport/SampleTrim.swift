// SPDX-License-Identifier: GPL-2.0-or-later

/// The frames of a decoded audio packet that are to be discarded: FFmpeg's `AV_PKT_DATA_SKIP_SAMPLES`.
package struct SampleTrim {
    /// The size of the side data: two numbers of 32 bits, and a byte for the reason of each.
    package static let byteCount = 10

    /// The number of frames at the beginning.
    package let start: Int
    /// The number of frames at the end.
    package let end: Int

    /// Makes a trim; `nil` if there is nothing to discard.
    package init?(start: Int, end: Int) {
        guard start > 0 || end > 0 else { return nil }
        (self.start, self.end) = (max(start, 0), max(end, 0))
    }

    /// Parses side data; `nil` if it is too short.
    package init?(bytes: [UInt8]) {
        guard bytes.count >= 8 else { return nil }
        func number(_ position: Int) -> Int {
            bytes[position..<position + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        (start, end) = (number(0), number(4))
    }

    /// The side data.
    package var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        bytes.withUnsafeMutableBytes { memory in
            memory.storeBytes(of: UInt32(clamping: start).littleEndian, toByteOffset: 0, as: UInt32.self)
            memory.storeBytes(of: UInt32(clamping: end).littleEndian, toByteOffset: 4, as: UInt32.self)
        }
        return bytes
    }
}

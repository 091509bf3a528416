// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// The build identifier that the linker wrote into a shared library (`NT_GNU_BUILD_ID`, ELF64 of this machine's byte
/// order). It distinguishes two builds of a driver even if path, size and modification time are the same, as in images
/// that are built reproducibly.
enum ELFBuild {
    /// The identifier in hexadecimal digits; `nil` if the file cannot be read, is not a library, or has no identifier.
    static func identifier(ofFile path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return identifier { offset, count in
            [UInt8](unsafeUninitializedCapacity: count) { bytes, read in
                read = max(pread(file, bytes.baseAddress, count, offset), 0)
            }
        }
    }

    /// - Parameter read: Reads bytes at an offset of a file; returns fewer at its end.
    static func identifier(_ read: (_ offset: Int, _ count: Int) -> [UInt8]) -> String? {
        let header = read(0, headerSize)
        guard header.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2]), let table = number(header, 32, as: UInt64.self),
            let size = number(header, 54, as: UInt16.self), let count = number(header, 56, as: UInt16.self),
            table < largestOffset, size >= segmentSize
        else { return nil }
        let segments = read(table, size * min(count, 64))
        for start in stride(from: 0, to: segments.count - segmentSize + 1, by: size) {
            guard number(segments, start, as: UInt32.self) == noteSegment,
                let offset = number(segments, start + 8, as: UInt64.self), offset < largestOffset,
                let length = number(segments, start + 32, as: UInt64.self)
            else { continue }
            if let found = identifier(inNotes: read(offset, min(length, 4096))) { return found }
        }
        return nil
    }

    /// Parses ELF notes: the lengths of name and description, a type, the name and the description, both padded to four
    /// bytes.
    private static func identifier(inNotes notes: [UInt8]) -> String? {
        var start = 0
        while let name = number(notes, start, as: UInt32.self), let length = number(notes, start + 4, as: UInt32.self),
            let type = number(notes, start + 8, as: UInt32.self)
        {
            let description = start + 12 + (name + 3) / 4 * 4
            guard description + length <= notes.count else { return nil }
            if type == buildIdentifier, notes[(start + 12)...].starts(with: Array("GNU\0".utf8)) {
                return notes[description..<description + length].map { byte in
                    (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }.joined()
            }
            start = description + (length + 3) / 4 * 4
        }
        return nil
    }

    private static let headerSize = 64
    private static let segmentSize = 56
    private static let noteSegment = 4
    private static let buildIdentifier = 3
    private static let largestOffset = 1 << 40

    /// Reads a number from the file. Returns `nil` beyond its end, or if the number is larger than any offset.
    private static func number<Value: FixedWidthInteger>(_ bytes: [UInt8], _ offset: Int, as: Value.Type) -> Int? {
        guard offset >= 0, offset + MemoryLayout<Value>.size <= bytes.count else { return nil }
        return bytes.withUnsafeBytes { Int(exactly: $0.loadUnaligned(fromByteOffset: offset, as: Value.self)) }
    }
}

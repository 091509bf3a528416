// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// The outermost parts of a file, whose sizes tell whether the file is complete. libavformat reads on as if nothing were
/// missing, and says nothing about an index that is not there.
struct ContainerOutline: Equatable {
    /// How many bytes the parts take beyond the end of the file; 0 if none are missing.
    var missingBytes: Int64 = 0
    /// Whether the file has an index for seeking; `nil` if this cannot be told.
    var hasIndex: Bool?
    /// Whether the file states that its writer has not finished it.
    var isUnfinished = false
    /// The end of the last fragment (MP4, QuickTime) or cluster (Matroska) that is whole; `nil` without one.
    var wholeEnd: Int64?

    /// The number of parts that are examined to report about a file: more than 12 hours of fragments of a second.
    static let usualParts = 100_000

    init(missingBytes: Int64 = 0, hasIndex: Bool?, isUnfinished: Bool = false, wholeEnd: Int64? = nil) {
        (self.missingBytes, self.hasIndex) = (missingBytes, hasIndex)
        (self.isUnfinished, self.wholeEnd) = (isUnfinished, wholeEnd)
    }

    /// Reads the outline of a file.
    ///
    /// - Parameter mostParts: The number of parts after which the rest is not examined.
    /// - Returns: `nil` if the file is neither MP4 or QuickTime, nor Matroska, nor RIFF.
    init?(_ file: some RandomAccessBytes, mostParts: Int = usualParts) {
        let beginning = file.bytes(at: 0, count: 12)
        guard beginning.count == 12 else { return nil }
        let code = beginning[4..<8].code
        if beginning[0..<4].number == 0x1A45_DFA3 {
            self.init(matroska: file, mostParts)
        } else if ["RIFF", "RF64"].contains(beginning[0..<4].code) {
            self.init(riff: beginning, size: file.size)
        } else if ["ftyp", "styp", "moov", "mdat", "free", "skip", "wide", "pnot"].contains(code) {
            self.init(boxes: file, mostParts)
        } else {
            return nil
        }
    }

    /// ISO/IEC 14496-12 4.2.
    private init(boxes file: some RandomAccessBytes, _ mostParts: Int) {
        var position: Int64 = 0
        var count = 0
        var isInFragment = false
        hasIndex = false
        while position < file.size {
            count += 1
            guard count <= mostParts else {
                hasIndex = hasIndex == true ? true : nil
                return
            }
            let header = file.bytes(at: position, count: 16)
            guard header.count >= 8 else {
                missingBytes = 8 - Int64(header.count)
                return
            }
            let kind = header[4..<8].code
            if kind == "moov" || kind == "moof" || kind == "sidx" { hasIndex = true }
            var size = Int64(header[0..<4].number)
            // 0: to the end of the file.
            if size == 0 { return }
            if size == 1 {
                guard header.count == 16 else {
                    missingBytes = 16 - Int64(header.count)
                    return
                }
                size = Int64(clamping: header[8..<16].number)
            }
            guard size >= 8 else { return }
            let (end, isBeyond) = position.addingReportingOverflow(size)
            if isBeyond || end > file.size {
                missingBytes = isBeyond ? .max : end - file.size
                return
            }
            position = end
            // A fragment is a `moof` and the `mdat` after it: 8.8.4.
            if kind == "mdat", isInFragment { wholeEnd = end }
            isInFragment = kind == "moof"
        }
    }

    /// RFC 9559: EBML header, then the Segment with its children.
    private init(matroska file: some RandomAccessBytes, _ mostParts: Int) {
        guard let header = Element(file, at: 0), let length = header.length,
            let segment = Element(file, at: header.start + length), segment.id == 0x1853_8067
        else { return }
        isUnfinished = segment.length == nil
        var end = file.size
        if let length = segment.length {
            let (stated, isBeyond) = segment.start.addingReportingOverflow(length)
            if isBeyond || stated > file.size { missingBytes = isBeyond ? .max : stated - file.size }
            if !isBeyond { end = min(end, stated) }
        }
        var position = segment.start
        for _ in 0..<mostParts {
            guard position < end else {
                if hasIndex == nil { hasIndex = false }
                return
            }
            guard let element = Element(file, at: position) else { break }
            // Cues.
            if element.id == 0x1C53_BB6B { hasIndex = true }
            // A cluster of unknown length ends where the next one begins, which only its contents tell.
            guard let length = element.length else { break }
            let (next, isBeyond) = element.start.addingReportingOverflow(length)
            if isBeyond || next > file.size {
                missingBytes = max(missingBytes, isBeyond ? .max : next - file.size)
                if hasIndex == nil { hasIndex = false }
                return
            }
            if element.id == 0x1F43_B675 { wholeEnd = next }
            position = next
        }
    }

    private init(riff beginning: [UInt8], size: Int64) {
        let length = Int64(beginning[4..<8].reversed().number)
        // Files of more than 4 GiB, and streams, state no length.
        guard beginning[0..<4].code == "RIFF", length != 0, length < 0xFFFF_FFFF, length + 8 > size else { return }
        missingBytes = length + 8 - size
    }

    /// An EBML element (RFC 8794).
    private struct Element {
        var id: UInt64
        /// The position of its contents.
        var start: Int64
        /// The length of its contents; `nil` if it is not known.
        var length: Int64?

        init?(_ file: some RandomAccessBytes, at position: Int64) {
            let bytes = file.bytes(at: position, count: 12)
            guard let first = bytes.first, first >= 0x10 else { return nil }
            let idCount = first.leadingZeroBitCount + 1
            guard bytes.count > idCount else { return nil }
            let marker = bytes[idCount]
            let sizeCount = marker.leadingZeroBitCount + 1
            guard marker != 0, bytes.count >= idCount + sizeCount else { return nil }
            id = bytes[0..<idCount].number
            let limit = (UInt64(1) << UInt64(7 * sizeCount)) - 1
            let value = bytes[idCount..<idCount + sizeCount].number & limit
            length = value == limit ? nil : Int64(clamping: value)
            start = position + Int64(idCount + sizeCount)
        }
    }
}

/// Bytes that can be read at any position.
protocol RandomAccessBytes {
    var size: Int64 { get }
    /// Returns bytes; fewer at the end.
    func bytes(at position: Int64, count: Int) -> [UInt8]
}

extension Collection<UInt8> {
    /// A number, most significant byte first.
    fileprivate var number: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
    /// Four characters.
    fileprivate var code: String { String(decoding: self, as: UTF8.self) }
}

/// A regular file.
final class LocalFile: RandomAccessBytes {
    let size: Int64
    private let descriptor: Int32

    /// Opens a file; `nil` if the path is none that can be read.
    init?(path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        size = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    func bytes(at position: Int64, count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { memory, filled in
            filled = max(retryingOnInterrupt { pread(descriptor, memory.baseAddress, count, Int(position)) }.value, 0)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import FuzzSupport

@testable internal import HelperIPC

// The ring's arithmetic and the lines of a log, held against simple models of both.
//
// Input: a byte that says which of them; for the ring its capacity in two bytes, then orders of three bytes each; for
// the log pieces, each behind its length in one byte.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        var ring: [UInt8] = [0, 0, 16]
        for index in 0..<40 as Range<UInt8> { ring += [index % 3, index * 5, index % 5] }
        var lines: [UInt8] = [1]
        for character in "one\ntwo\n\nthree".utf8 { lines += [1, character] }
        let longLine: [UInt8] = [1, 255] + [UInt8](repeating: 65, count: 255) + [3, 10, 10, 66]
        return [ring, lines, longLine]
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    if input.byte() & 1 == 0 { checkRing(&input) } else { checkLog(&input) }
    return 0
}

private func checkRing(_ input: inout FuzzInput) {
    let capacity = input.short()
    var ring = RingSpace(capacity: capacity)
    // The model: the parts that are taken, oldest first.
    var parts: [Range<Int>] = []
    var released: UInt64 = 0
    while !input.isEmpty {
        let order = input.byte()
        if order & 1 == 0 {
            let byteCount = order == 254 ? -input.short() : order == 252 ? Int.max - input.short() : input.short()
            guard let offset = ring.reserve(byteCount) else {
                precondition(byteCount < 0 || byteCount > capacity || !parts.isEmpty, "an empty ring has no room")
                continue
            }
            precondition(byteCount >= 0 && offset >= 0 && byteCount <= capacity - offset, "a part outside of the ring")
            let part = offset..<offset + byteCount
            precondition(!parts.contains { $0.overlaps(part) }, "a part of another")
            parts.append(part)
        } else {
            let total = order == 255 ? UInt64.max - UInt64(input.short()) : released &+ UInt64(input.short() % 8) &- 2
            let isPossible = total >= released && total - released <= UInt64(parts.count)
            precondition(ring.release(total: total) == isPossible)
            if isPossible {
                parts.removeFirst(Int(total - released))
                released = total
            }
        }
        precondition(ring.released == released)
    }
}

private func checkLog(_ input: inout FuzzInput) {
    var tail = LogTail()
    var (all, told): ([UInt8], [String]) = ([], [])
    while !input.isEmpty {
        let piece = input.bytes(Int(input.byte()))
        all += piece
        told += tail.add(piece)
    }
    if let last = tail.finish() { told.append(last) }
    // The model: cut at line feeds, and then into pieces.
    let expected = all.split(separator: UInt8(ascii: "\n")).flatMap { line in
        stride(from: 0, to: line.count, by: LogTail.longestLine).map { start in
            let piece = line.dropFirst(start).prefix(LogTail.longestLine)
            return String(decoding: piece, as: UTF8.self)
        }
    }
    precondition(told == expected)
    precondition(tail.lines == Array(expected.suffix(LogTail.lineCount)))
    precondition(tail.explanation.isEmpty == expected.isEmpty)
}

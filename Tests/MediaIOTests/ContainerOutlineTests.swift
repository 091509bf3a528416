// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import MediaIO

/// A file in memory.
private struct Bytes: RandomAccessBytes {
    var contents: [UInt8]
    var size: Int64 { Int64(contents.count) }

    func bytes(at position: Int64, count: Int) -> [UInt8] {
        guard position >= 0, position < size else { return [] }
        return Array(contents[Int(position)..<min(Int(position) + count, contents.count)])
    }
}

/// A box of ISO/IEC 14496-12; its size can be stated otherwise.
private func box(_ kind: String, _ count: Int, stated: UInt32? = nil) -> [UInt8] {
    let size = stated ?? UInt32(count + 8)
    return (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + kind.utf8
        + [UInt8](repeating: 0, count: count)
}

/// An element of EBML with a length of eight bytes.
private func element(_ id: [UInt8], _ contents: [UInt8], stated: UInt64? = nil) -> [UInt8] {
    let size = (stated ?? UInt64(contents.count)) | 1 << 56
    return id + (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * UInt64($0))) } + contents
}

@Suite struct ContainerOutlineTests {
    private static let header = element([0x1A, 0x45, 0xDF, 0xA3], [UInt8](repeating: 0, count: 20))
    private static let segment: [UInt8] = [0x18, 0x53, 0x80, 0x67]
    private static let cluster: [UInt8] = [0x1F, 0x43, 0xB6, 0x75]
    private static let cues: [UInt8] = [0x1C, 0x53, 0xBB, 0x6B]

    private func outline(_ contents: [UInt8]) -> ContainerOutline? { ContainerOutline(Bytes(contents: contents)) }

    @Test func boxesHaveAnIndexAndAnEnd() {
        let whole = box("ftyp", 16) + box("moov", 40) + box("mdat", 100)
        #expect(outline(whole) == ContainerOutline(missingBytes: 0, hasIndex: true))
        #expect(outline(whole.dropLast(30)) == ContainerOutline(missingBytes: 30, hasIndex: true))
        #expect(outline(box("ftyp", 16) + box("mdat", 100)) == ContainerOutline(missingBytes: 0, hasIndex: false))
        // A size of 0 reaches to the end; a header can be cut off as well.
        #expect(outline(box("ftyp", 16) + box("moov", 8) + box("mdat", 50, stated: 0))?.missingBytes == 0)
        #expect(outline(box("ftyp", 16) + box("moov", 8) + Array(box("mdat", 0).prefix(5)))?.missingBytes == 3)
    }

    /// A size of 1 is followed by one of 64 bits.
    @Test func largeBoxesAreMeasured() {
        func large(_ size: UInt64) -> [UInt8] {
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * UInt64($0))) }
            return box("ftyp", 16) + box("mdat", 0, stated: 1) + bytes + [UInt8](repeating: 0, count: 84)
        }
        #expect(outline(large(100))?.missingBytes == 0)
        #expect(outline(large(1100))?.missingBytes == 1000)
        #expect(outline(large(.max))?.missingBytes == .max)
        #expect(outline(large(3))?.missingBytes == 0)
    }

    /// What is whole ends with a `moof` and its `mdat`, or with a cluster.
    @Test func partsThatAreWholeEnd() {
        let beginning = box("ftyp", 16) + box("moov", 40)
        let fragment = box("moof", 20) + box("mdat", 100)
        #expect(outline(beginning + fragment + fragment)?.wholeEnd == 344)
        #expect(outline(beginning + fragment + fragment.dropLast(1))?.wholeEnd == 208)
        #expect(outline(beginning + fragment + box("moof", 20))?.wholeEnd == 208)
        #expect(outline(beginning + fragment.dropLast(1))?.wholeEnd == nil)
        #expect(outline(beginning + box("mdat", 100))?.wholeEnd == nil)
        let cluster = element(Self.cluster, [1, 2, 3])
        let clusters = Self.header + element(Self.segment, cluster + cluster, stated: 1 << 56 - 1)
        #expect(outline(clusters)?.wholeEnd == 74)
        #expect(outline(clusters.dropLast(1))?.wholeEnd == 59)
        #expect(outline(clusters.dropLast(16))?.wholeEnd == nil)
    }

    @Test func matroskaHasAnIndexAndAnEnd() {
        let clusters = element(Self.cluster, [1, 2, 3]) + element(Self.cluster, [4, 5, 6])
        let whole = Self.header + element(Self.segment, clusters + element(Self.cues, [7]))
        #expect(outline(whole) == ContainerOutline(missingBytes: 0, hasIndex: true, wholeEnd: 74))
        #expect(outline(whole.dropLast(14))?.missingBytes == 14)
        let without = Self.header + element(Self.segment, clusters)
        #expect(outline(without) == ContainerOutline(missingBytes: 0, hasIndex: false, wholeEnd: 74))
        let unknown: UInt64 = 1 << 56 - 1
        let live = Self.header + element(Self.segment, element(Self.cluster, [1, 2], stated: unknown), stated: unknown)
        #expect(outline(live) == ContainerOutline(missingBytes: 0, hasIndex: nil, isUnfinished: true))
        // A writer that was killed: the length of the whole is not known, those of the parts are.
        let killed = Self.header + element(Self.segment, clusters, stated: unknown)
        let found = ContainerOutline(missingBytes: 0, hasIndex: false, isUnfinished: true, wholeEnd: 74)
        #expect(outline(killed) == found)
        #expect(outline(killed.dropLast(2))?.missingBytes == 2)
    }

    @Test func riffHasAnEnd() {
        func riff(_ length: UInt32) -> [UInt8] {
            Array("RIFF".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + Array("AVI ".utf8)
        }
        #expect(outline(riff(4))?.missingBytes == 0)
        #expect(outline(riff(104))?.missingBytes == 100)
        #expect(outline(riff(.max))?.missingBytes == 0)
    }

    @Test func otherFilesHaveNone() {
        #expect(outline([]) == nil && outline(Array("hello world, hello".utf8)) == nil)
        #expect(outline([UInt8](repeating: 0x47, count: 188)) == nil)
    }

    /// Whatever the bytes are, the work ends, and nothing overflows.
    @Test func hostileFilesAreHarmless() {
        var random = SystemRandomNumberGenerator()
        for start in [box("ftyp", 0), Self.header + Self.segment, Self.header] {
            for _ in 0..<2000 {
                let noise = (0..<64).map { _ in UInt8.random(in: 0...255, using: &random) }
                let found = outline(start + noise)
                #expect(found != nil && (found?.missingBytes ?? -1) >= 0, "\(noise)")
            }
        }
    }

    @Test func dynamicRangesFollowFromCodePoints() {
        func range(_ primaries: Int, _ transfer: Int, _ vision: String? = nil, scenes: Bool = false) -> DynamicRange {
            DynamicRange(primaries: primaries, transfer: transfer, dolbyVision: vision, hasSceneMetadata: scenes)
        }
        #expect(range(1, 1) == .standard && range(2, 2) == .standard && range(9, 14) == .standard)
        #expect(range(9, 16) == .hdr10 && range(9, 16, scenes: true) == .hdr10Plus)
        #expect(range(12, 16) == .perceptualQuantizer && range(9, 18) == .hybridLogGamma)
        #expect(range(9, 16, "8.1", scenes: true) == .dolbyVision(profile: "8.1"))
        #expect(range(9, 16, "8.1").name == "Dolby Vision")
    }
}

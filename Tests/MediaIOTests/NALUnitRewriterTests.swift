// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Testing

@testable import MediaIO

@Suite struct NALUnitRewriterTests {
    // H.264 sets with the numbers 0 and 1: seq_parameter_set_id is the bit after profile and level.
    private let sps: [UInt8] = [0x67, 66, 0, 30, 0x80, 1]
    private let pps: [UInt8] = [0x68, 0x80, 1]
    private let otherPPS: [UInt8] = [0x68, 0x80, 2]
    private let secondPPS: [UInt8] = [0x68, 0x40, 3]
    private let delimiter: [UInt8] = [0x09, 0xF0]
    private let idr: [UInt8] = [0x65, 7, 7]
    private let slice: [UInt8] = [0x41, 8, 8]

    private func rewrite(
        _ rewriter: inout NALUnitRewriter,
        _ units: [[UInt8]],
        isKeyFrame: Bool
    ) throws -> [[UInt8]]? {
        let bytes = try rewriter.source.join(units)
        let result = try bytes.withUnsafeBytes { try rewriter.rewrite($0, isKeyFrame: isKeyFrame) }
        return try result.map { result in try rewriter.target.nalUnits(in: result).map { Array(result[$0]) } }
    }

    private func rewriter(from source: NALUnitFraming, to format: ContainerFormat, isStreamed: Bool = false)
        -> NALUnitRewriter
    {
        NALUnitRewriter(
            codec: .h264,
            source: source,
            header: ParameterSetList([sps, pps], codec: .h264),
            format: format,
            carriage: ParameterSetCarriage(format, isStreamed: isStreamed)
        )
    }

    @Test func startCodesLoseWhatBelongsToThem() throws {
        var rewriter = rewriter(from: .annexB, to: .mp4)
        #expect(try rewrite(&rewriter, [delimiter, sps, pps, idr], isKeyFrame: true) == [idr])
        #expect(try rewrite(&rewriter, [delimiter, slice], isKeyFrame: false) == [slice])
        #expect(!rewriter.haveChanged)
    }

    @Test func changedSetsStayInTheStream() throws {
        var rewriter = rewriter(from: .annexB, to: .mp4)
        #expect(try rewrite(&rewriter, [sps, pps, idr], isKeyFrame: true) == [idr])
        #expect(try rewrite(&rewriter, [sps, otherPPS, idr], isKeyFrame: true) == [sps, otherPPS, idr])
        #expect(rewriter.haveChanged)
        // A player that seeks back needs the first sets again.
        #expect(try rewrite(&rewriter, [sps, pps, idr], isKeyFrame: true) == [sps, pps, idr])
    }

    @Test(arguments: [ContainerFormat.ts, .h264]) func byteStreamsGetDelimitersAndSets(format: ContainerFormat) throws {
        var rewriter = rewriter(from: .lengthPrefixed(.two), to: format)
        let key = try #require(try rewrite(&rewriter, [idr], isKeyFrame: true))
        #expect(key.map { $0[0] & 31 } == [9, 7, 8, 5])
        #expect(try #require(try rewrite(&rewriter, [delimiter, slice], isKeyFrame: false)) == [delimiter, slice])
        #expect(try #require(try rewrite(&rewriter, [sps, idr], isKeyFrame: true)).map { $0[0] & 31 } == [9, 8, 7, 5])
    }

    @Test func lengthPrefixesStayAsTheyAre() throws {
        var rewriter = rewriter(from: .lengthPrefixed(.two), to: .mp4)
        #expect(try rewrite(&rewriter, [delimiter, sps, idr], isKeyFrame: true) == nil)
        #expect(rewriter.target == .lengthPrefixed(.two))
        var streamed = self.rewriter(from: .lengthPrefixed(.four), to: .mp4, isStreamed: true)
        #expect(try rewrite(&streamed, [idr], isKeyFrame: true) == [sps, pps, idr])
        #expect(try rewrite(&streamed, [slice], isKeyFrame: false) == nil)
    }

    @Test func damageIsAnError() {
        var rewriter = rewriter(from: .lengthPrefixed(.four), to: .ts)
        let bytes: [UInt8] = [0, 0, 9, 9, 1]
        #expect(throws: (any Error).self) {
            try bytes.withUnsafeBytes { try rewriter.rewrite($0, isKeyFrame: false) }
        }
    }

    @Test func aSetReplacesThatOfItsNumber() {
        var list = ParameterSetList([sps, pps], codec: .h264)
        list.add(secondPPS)
        #expect(list.units == [sps, pps, secondPPS])
        list.add(otherPPS)
        #expect(list.units == [sps, otherPPS, secondPPS])
        list.add(slice)
        #expect(list.units.count == 3)
    }

    /// Sets that no decoder can use are passed on, but damage does not fill the memory.
    @Test func setsWithoutANumberAreFew() {
        var list = ParameterSetList([sps, pps], codec: .h264)
        // The number is missing, or above 255.
        let damaged = (0..<1000).map { [0x68, 0, 0, 0x10, UInt8($0 / 256), UInt8($0 % 256)] as [UInt8] }
        for unit in [[0x68]] + damaged { list.add(unit) }
        #expect(list.units.prefix(2) == [sps, pps])
        #expect(list.units.dropFirst(2) == damaged.suffix(16))
        list.add(damaged[999])
        #expect(list.units.count == 18)
    }
}

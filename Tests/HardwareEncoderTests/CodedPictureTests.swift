// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLibVA
import MediaTypes
import TestSupport
import Testing

@testable import HardwareEncoder
@testable import VAAPI

/// What is made of the memory that a driver has coded a picture into.
@Suite struct CodedPictureTests {
    private static let annexB = NALUnitFraming.annexB
    private static let slice: [UInt8] = [0x41, 0x9A, 0x24]
    private static let idr: [UInt8] = [0x65, 0x88, 0x84]

    /// A list of segments in memory, as `vaMapBuffer` gives it.
    private func withSegments<Result>(
        _ segments: [(bytes: [UInt8], size: Int?, status: UInt32)],
        capacity: Int = 1 << 20,
        _ body: (CodedSegments) throws -> Result
    ) rethrows -> Result {
        let memory = segments.map { segment in
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(segment.bytes.count, 1), alignment: 16)
            bytes.copyBytes(from: segment.bytes)
            return bytes
        }
        let list = UnsafeMutablePointer<VACodedBufferSegment>.allocate(capacity: segments.count)
        for (index, segment) in segments.enumerated() {
            var entry = VACodedBufferSegment()
            entry.size = UInt32(segment.size ?? segment.bytes.count)
            entry.status = segment.status
            entry.buf = memory[index].baseAddress
            if index + 1 < segments.count { entry.next = UnsafeMutableRawPointer(list + index + 1) }
            list[index] = entry
        }
        defer {
            memory.forEach { $0.deallocate() }
            list.deallocate()
        }
        return try body(CodedSegments(first: UnsafeMutableRawPointer(list), capacity: capacity))
    }

    @Test func aPictureWithoutBytesHasFailed() {
        let error = #expect(throws: MediaError.self) {
            try withSegments([([], nil, 0)]) { _ = try CodedPictureStatus($0) }
        }
        #expect(error?.code == .frameFailed && error?.given == "status 0x0, 0 bytes")
    }

    @Test func aBadPictureHasFailedUnlessTheDriverDoesNotMeanIt() throws {
        let bad = UInt32(VA_CODED_BUF_STATUS_BAD_BITSTREAM)
        let error = #expect(throws: MediaError.self) {
            try withSegments([([1, 2], nil, bad)]) { _ = try CodedPictureStatus($0) }
        }
        #expect(error?.code == .frameFailed && error?.given == "status 0x8000, 2 bytes")
        try withSegments([([1, 2], nil, bad)]) { segments in
            let status = try CodedPictureStatus(segments, Quirks(vendor: DriverNumbers.navi21.vendor, codec: .h264))
            #expect(!status.isOverflown && status.pieces.map(\.bytes.count) == [2])
        }
    }

    @Test func aPictureThatDoesNotFitIsToldByStatusOrSize() throws {
        let overflow = UInt32(VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK)
        try withSegments([([1, 2], nil, overflow)]) { segments in
            let status = try CodedPictureStatus(segments)
            #expect(status.isOverflown)
        }
        // More than the buffer has: what is there is not looked at beyond its end.
        try withSegments([([1, 2, 3, 4], 9, 0)], capacity: 4) { segments in
            let status = try CodedPictureStatus(segments)
            #expect(status.isOverflown && status.pieces.map(\.bytes.count) == [4])
        }
        // Nothing at all came out, for lack of room.
        try withSegments([([], nil, overflow)]) { segments in
            let status = try CodedPictureStatus(segments)
            #expect(status.isOverflown)
        }
        // The quantizer and the number of passes are no failure.
        try withSegments([([1, 2], nil, 0x0300_001A)]) { segments in
            let status = try CodedPictureStatus(segments)
            #expect(!status.isOverflown)
        }
    }

    /// What iHD says of a buffer that it has not coded into.
    @Test func aBufferThatIsFullToTheLastByteHoldsNothingOfSomeDrivers() throws {
        let intel = Quirks(vendor: DriverNumbers.skylake.vendor, codec: .h264)
        #expect(throws: MediaError.self) {
            try withSegments([([1, 2, 3, 4], nil, 0)], capacity: 4) { _ = try CodedPictureStatus($0, intel) }
        }
        try withSegments([([1, 2, 3], nil, 0)], capacity: 4) { segments in
            let status = try CodedPictureStatus(segments, intel)
            #expect(status.pieces.map(\.bytes.count) == [3])
        }
        try withSegments([([1, 2, 3, 4], nil, 0)], capacity: 4) { segments in
            let status = try CodedPictureStatus(segments)
            #expect(status.pieces.map(\.bytes.count) == [4])
        }
    }

    @Test func allSegmentsBelongToThePicture() throws {
        let first = try Self.annexB.join([Self.idr])
        let second = try Self.annexB.join([Self.idr, Self.slice])
        try withSegments([(first, nil, 0), ([], nil, 0), (second, nil, 0)]) { segments in
            let status = try CodedPictureStatus(segments)
            let unit = try CodedAccessUnit(status.pieces, .h264)
            #expect(unit.isIDR)
            #expect(bytes(unit.coded(delimiter: nil, inserting: [])) == [Self.idr, Self.idr, Self.slice])
        }
    }

    /// `va.h` has drivers end segments where they like: the pieces are one stream, whatever they cut in two.
    @Test(arguments: [VideoCodec.h264, .hevc])
    func segmentsMayEndAnywhere(codec: VideoCodec) throws {
        let units: [[UInt8]] =
            codec == .h264
            ? [[9, 0x10], Self.idr, Self.slice] : [[0x46, 1, 0x10], [0x26, 1, 0xAF, 3], [0x02, 1, 0xD0]]
        let stream = [0] + (try Self.annexB.join(units)) + [0, 0]
        var random = SplitMix(24)
        for _ in 0..<200 {
            let ends = (0..<Int.random(in: 0...6, using: &random))
                .map { _ in Int.random(in: 0...stream.count, using: &random) }.sorted()
            let bounds = [0] + ends + [stream.count]
            let pieces = zip(bounds, bounds.dropFirst()).map { (bytes: Array(stream[$0..<$1]), Int?.none, UInt32(0)) }
            try withSegments(pieces) { segments in
                let unit = try CodedAccessUnit(try CodedPictureStatus(segments).pieces, codec)
                #expect(bytes(unit.coded(delimiter: units[0], inserting: [])) == units, "cut at \(ends)")
            }
        }
    }

    /// Such a segment is a whole unit, with a start code or without, and ends a unit before it.
    @Test func segmentsThatAreSingleUnitsMayLackStartCodes() throws {
        let single = UInt32(VA_CODED_BUF_STATUS_SINGLE_NALU)
        let code: [UInt8] = [0, 0, 0, 1]
        let list: [(bytes: [UInt8], size: Int?, status: UInt32)] = [
            (Self.idr + [0, 0], nil, single), ([0], nil, 0), (Array(code[1...]) + Self.idr.prefix(1), nil, 0),
            (Array(Self.idr.dropFirst()), nil, 0), (code + Self.slice, nil, single), (Self.slice, nil, single),
        ]
        try withSegments(list) { segments in
            let unit = try CodedAccessUnit(try CodedPictureStatus(segments).pieces, .h264)
            #expect(bytes(unit.coded(delimiter: nil, inserting: [])) == [Self.idr, Self.idr, Self.slice, Self.slice])
        }
        // Drivers whose status has garbage there mean nothing by it: without a start code there is no unit.
        let quirks = Quirks(vendor: DriverNumbers.navi21.vendor, codec: .h264)
        try withSegments([(Self.idr, nil, single)]) { segments in
            let status = try CodedPictureStatus(segments, quirks)
            #expect(throws: MediaError.self) { try CodedAccessUnit(status.pieces, .h264) }
        }
    }

    @Test func segmentsHaveNoMoreThanTheBuffer() throws {
        try withSegments([([1, 2, 3], nil, 0), ([4, 5], nil, 0)], capacity: 4) { segments in
            let status = try CodedPictureStatus(segments)
            #expect(status.isOverflown)
        }
    }

    /// The units behind their lengths.
    private func bytes(_ data: CodedData) -> [[UInt8]] {
        data.withUnsafeBytes { memory in
            ((try? NALUnitFraming.lengthPrefixed(.four).nalUnits(in: memory)) ?? []).map { Array(memory[$0]) }
        }
    }

    private func accessUnit<Result>(_ units: [[UInt8]], _ body: (CodedAccessUnit) throws -> Result) throws -> Result {
        let stream = try Self.annexB.join(units)
        return try stream.withUnsafeBytes { try body(try CodedAccessUnit([CodedPiece(bytes: $0)], .h264)) }
    }

    @Test func setsAndDelimitersAreTakenOutAndWhatIsWantedPutInFront() throws {
        let delimiter: [UInt8] = [9, 0x10]
        let (sps, pps, sei): ([UInt8], [UInt8], [UInt8]) = ([0x67, 1], [0x68, 2], [6, 3])
        try accessUnit([delimiter, sps, pps, sei, Self.idr]) { unit in
            #expect(unit.isIDR)
            #expect(unit.parameterSets == [sps, pps])
            #expect(bytes(unit.coded(delimiter: nil, inserting: [])) == [sei, Self.idr])
            let wanted: [UInt8] = [9, 0xF0]
            let inserted: [UInt8] = [6, 7]
            let complete = bytes(unit.coded(delimiter: wanted, inserting: [inserted]))
            #expect(complete.first == wanted && complete.last == Self.idr)
            #expect(Set(complete) == [wanted, inserted, sei, Self.idr] && complete.count == 4)
        }
    }

    /// Only the unit that is known better afterwards goes; a picture without one gets it all the same.
    @Test func aBufferingPeriodIsReplaced() throws {
        let (sent, other, own): ([UInt8], [UInt8], [UInt8]) = (
            [6, 0, 1, 2, 0x80], [6, 5, 1, 3, 0x80], [6, 0, 1, 9, 0x80]
        )
        for units in [[other, sent, Self.idr], [other, Self.idr]] {
            try accessUnit(units) { unit in
                let coded = unit.coded(delimiter: [9, 0x10], inserting: [own], replacingBufferingPeriod: true)
                #expect(bytes(coded) == [[9, 0x10], own, other, Self.idr])
            }
        }
    }

    @Test(arguments: [[], [0, 0, 0, 0], [1, 2, 3, 4], [0, 0, 1, 0x67, 1], [0, 0, 1, 6, 5]] as [[UInt8]])
    func memoryWithoutASliceIsNoPicture(_ memory: [UInt8]) {
        let error = #expect(throws: MediaError.self) {
            _ = try memory.withUnsafeBytes { try CodedAccessUnit([CodedPiece(bytes: $0)], .h264) }
        }
        #expect(error?.code == .malformedData)
    }
}

/// The description that follows from a driver's own parameter sets.
@Suite struct FormatTrackerTests {
    private func stream(_ change: (inout EncoderConfiguration) -> Void = { _ in }) throws -> H264Stream {
        var configuration = EncoderConfiguration(width: 642, height: 358)
        configuration.bFrames = .off
        configuration.color = ColorDescription(primaries: .bt709, transfer: .bt709, matrix: .bt709, range: .limited)
        change(&configuration)
        return try H264Stream(configuration.validated(for: .h264).configuration, .init(profiles: [.h264High]))
    }

    @Test func ourOwnSetsChangeNothing() throws {
        let stream = try stream()
        var tracker = try FormatTracker(stream)
        #expect(try tracker.update(stream.parameterSets()) == nil)
        #expect(try tracker.update([]) == nil)
        #expect(tracker.format.parameterSets == (try stream.parameterSets()))
    }

    @Test func aDriversSetsAreCompletedByWhatItDoesNotKnow() throws {
        let stream = try stream()
        var tracker = try FormatTracker(stream)
        var own = stream.sequence
        own.vui = nil
        own.frameCropping = nil
        own.log2MaxFrameNumMinus4 = 5
        let sets = [try own.nalUnit(), try stream.picture.nalUnit()]
        let format = try #require(try tracker.update(sets))
        let completed = try H264SequenceParameterSet(nalUnit: try #require(format.parameterSets.first))
        #expect(completed.log2MaxFrameNumMinus4 == 5)
        #expect(completed.displaySize == PictureSize(width: 642, height: 358))
        #expect(completed.vui?.signal == stream.sequence.vui?.signal)
        #expect(completed.vui?.bitstreamRestriction == stream.sequence.vui?.bitstreamRestriction)
        // The same again is nothing new.
        #expect(try tracker.update(sets) == nil)
    }

    @Test func theBufferHoldsTheReferencesThatADriverKeeps() throws {
        let stream = try stream()
        var tracker = try FormatTracker(stream)
        var own = stream.sequence
        own.maxNumRefFrames += 1
        let format = try #require(try tracker.update([try own.nalUnit(), try stream.picture.nalUnit()]))
        let completed = try H264SequenceParameterSet(nalUnit: try #require(format.parameterSets.first))
        #expect(completed.vui?.bitstreamRestriction?.maxDecFrameBuffering == own.maxNumRefFrames)
    }

    @Test func aDriversRatesStay() throws {
        let stream = try stream { $0.rateControl = .constantBitRate(1_000_000) }
        var tracker = try FormatTracker(stream)
        var own = stream.sequence
        own.vui = H264VideoUsability()
        own.vui?.nalHRD = H264ReferenceDecoder()
        own.vui?.nalHRD?.bitRateScale = 3
        let format = try #require(try tracker.update([try own.nalUnit(), try stream.picture.nalUnit()]))
        let completed = try H264SequenceParameterSet(nalUnit: try #require(format.parameterSets.first))
        #expect(completed.vui?.nalHRD == own.vui?.nalHRD)
    }

    @Test func setsOfAnotherSizeOrNoneAreRefused() throws {
        let stream = try stream()
        var tracker = try FormatTracker(stream)
        var small = stream.sequence
        small.picWidthInMbsMinus1 = 3
        small.frameCropping = nil
        for set in [try small.nalUnit(), [0x67, 0x64]] {
            let error = #expect(throws: MediaError.self) { try tracker.update([set]) }
            #expect(error?.code == .malformedData)
        }
        #expect(try tracker.update(stream.parameterSets()) == nil)
    }
}

/// Which frames a report about losses is about, and when key frames are due by time.
@Suite struct PresentationHistoryTests {
    private func time(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 30) }

    @Test func framesAreFoundByTheirTimes() {
        var history = PresentationHistory()
        for number in 0..<10 { history.record(Int64(number), at: time(Int64(number) * 2)) }
        #expect(history.number(at: time(6)) == 3)
        #expect(history.number(at: time(7)) == nil)
        #expect(history.numbers(in: time(3)...time(8)) == 2...4)
        #expect(history.numbers(in: time(-5)...time(0)) == 0...0)
        #expect(history.numbers(in: time(3)...time(3)) == nil)
        #expect(history.numbers(in: time(19)...time(99)) == nil)
    }

    @Test func theOldestAreForgotten() {
        var history = PresentationHistory()
        let count = Int64(PresentationHistory.capacity * 5)
        for number in 0..<count { history.record(number, at: time(number)) }
        #expect(history.number(at: time(0)) == nil)
        #expect(history.number(at: time(count - Int64(PresentationHistory.capacity))) != nil)
        #expect(history.number(at: time(count - 1)) == count - 1)
    }

    @Test func keyFramesAreDueByTimeOnlyWithAVariableRate() {
        var configuration = EncoderConfiguration()
        configuration.keyFrameInterval = KeyFrameInterval(duration: time(60))
        var constant = KeyFrameClock(configuration)
        constant.restart(at: time(0))
        #expect(!constant.isDue(at: time(1000)))
        configuration.isFrameRateVariable = true
        var variable = KeyFrameClock(configuration)
        #expect(!variable.isDue(at: time(1000)))
        variable.restart(at: time(1000))
        #expect(!variable.isDue(at: time(1059)))
        #expect(variable.isDue(at: time(1060)))
    }
}

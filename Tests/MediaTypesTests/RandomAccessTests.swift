// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@Suite struct RandomAccessTests {
    private func sample(_ units: [[UInt8]], _ codec: VideoCodec, subLayers: UInt8 = 1) throws -> SampleBuffer {
        SampleBuffer(
            data: CodedData(try NALUnitFraming.lengthPrefixed(.four).join(units)),
            presentationTime: .zero,
            decodeTime: .zero,
            duration: .invalid,
            isKeyFrame: false,
            formatDescription: FormatDescription(
                codec: codec,
                width: 16,
                height: 16,
                parameterSets: codec == .hevc ? [[0x42, 1, (subLayers - 1) << 1]] : []
            )
        )
    }

    private func point(_ distance: Int32, _ codec: VideoCodec) throws -> [UInt8] {
        let message =
            switch codec {
            case .h264: try H264RecoveryPoint(recoveryFrameCnt: UInt32(distance)).message()
            case .hevc: try HEVCRecoveryPoint(recoveryPocCnt: distance).message()
            }
        return SEIMessage.nalUnit([message], codec: codec)
    }

    @Test func theUnitsSayWhereDecodingCanBegin() throws {
        let cases: [(VideoCodec, [[UInt8]], RandomAccess)] = [
            (.h264, [[0x65, 1]], .closed),
            (.h264, [[0x09, 0xF0], [0x65, 1]], .closed),
            (.h264, [[0x41, 1]], .none),
            (.h264, [try point(0, .h264), [0x41, 1]], .open),
            (.h264, [try point(7, .h264), [0x41, 1]], .gradual(distance: 7)),
            (.h264, [[0x41, 1], try point(0, .h264)], .none),
            (.h264, [[0x06, 6, 1, 0], [0x41, 1]], .gradual(distance: 65535)),
            (.h264, [[0x06]], .none),
            (.hevc, [[0x26, 1, 1]], .closed),
            (.hevc, [[0x28, 1, 1]], .closed),
            (.hevc, [[0x2A, 1, 1]], .open),
            (.hevc, [[0x20, 1, 1]], .open),
            (.hevc, [[0x02, 1, 1]], .none),
            (.hevc, [try point(5, .hevc), [0x02, 1, 1]], .gradual(distance: 5)),
            (.hevc, [try point(-5, .hevc), [0x02, 1, 1]], .gradual(distance: 65535)),
        ]
        for (codec, units, access) in cases {
            #expect(try sample(units, codec).randomAccess == access, "\(units)")
        }
    }

    @Test func theUnitsSayWhatCanBeLeftOut() throws {
        let cases: [(VideoCodec, [[UInt8]], Bool)] = [
            (.h264, [[0x01, 1]], true),
            (.h264, [[0x06, 5, 1, 0, 0x80], [0x01, 1]], true),
            (.h264, [[0x21, 1]], false),
            (.h264, [[0x65, 1]], false),
            (.hevc, [[0x00, 1, 1]], true),
            (.hevc, [[0x02, 1, 1]], false),
            (.hevc, [[0x10, 1, 1]], true),
            (.hevc, [[0x12, 1, 1]], false),
            (.hevc, [[0x2A, 1, 1]], false),
            (.hevc, [[0x28]], false),
        ]
        for (codec, units, isDisposable) in cases {
            #expect(try sample(units, codec).isDisposable == isDisposable, "\(units)")
        }
    }

    @Test func aPictureOfALowerSubLayerMayBeNeeded() throws {
        let (lower, higher): ([UInt8], [UInt8]) = ([0x04, 2, 1], [0x04, 3, 1])
        #expect(try !sample([lower], .hevc, subLayers: 3).isDisposable)
        #expect(try sample([higher], .hevc, subLayers: 3).isDisposable)
        #expect(try sample([lower], .hevc, subLayers: 2).isDisposable)
    }

    @Test func damagedDataIsNeither() {
        let description = FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])
        for bytes: [UInt8] in [[], [0, 0, 0], [0, 0, 0, 9, 0x65], [0, 0, 0, 0]] {
            let sample = SampleBuffer(
                data: CodedData(bytes),
                presentationTime: .zero,
                decodeTime: .zero,
                duration: .invalid,
                isKeyFrame: true,
                formatDescription: description
            )
            #expect(sample.randomAccess == .none && !sample.isDisposable)
        }
    }
}

@Suite struct FormatDescriptionTests {
    @Test func parameterSetsStateSizeColourAndShape() throws {
        var set = H264SequenceParameterSet()
        set.picWidthInMbsMinus1 = 9
        set.picHeightInMapUnitsMinus1 = 5
        try set.setDisplaySize(PictureSize(width: 150, height: 90))
        var usability = H264VideoUsability()
        usability.signal.aspectRatio = VideoSignal.AspectRatio(try #require(PositiveRatio(4, 3)))
        set.vui = usability
        let picture: [UInt8] = [0x68, 0xEE, 0x3C, 0x80]
        let unit = try set.nalUnit()
        let format = try FormatDescription(codec: .h264, parameterSets: [unit, picture])
        #expect(format.width == 150 && format.height == 90)
        #expect(format.pixelAspectRatio == Rational(4, 3))
        #expect(format.parameterSets == [unit, picture])
    }

    @Test(arguments: [VideoCodec.h264, .hevc]) func damagedOrMissingSetsAreAnError(codec: VideoCodec) {
        for sets: [[UInt8]] in [[], [[]], [[0x67]], [[0x42, 1]], [[0x68, 1]]] {
            let error = #expect(throws: MediaError.self) {
                _ = try FormatDescription(codec: codec, parameterSets: sets)
            }
            #expect(error?.code == .malformedData)
        }
    }
}

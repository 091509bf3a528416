// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@Suite struct AccessUnitTests {
    private static let sets: [[UInt8]] = [[0x67, 66, 0xC0, 30, 0xAA], [0x68, 0xBB]]
    private static let slice: [UInt8] = [0x65, 0x88, 1, 2, 3]
    private static let sei: [UInt8] = [0x06, 5]

    private func sample(_ units: [[UInt8]], codec: VideoCodec = .h264, sets: [[UInt8]] = sets) throws -> SampleBuffer {
        sample(bytes: try NALUnitFraming.lengthPrefixed(.four).join(units), codec: codec, sets: sets)
    }

    private func sample(bytes: [UInt8], codec: VideoCodec = .h264, sets: [[UInt8]] = sets) -> SampleBuffer {
        SampleBuffer(
            data: CodedData(bytes),
            presentationTime: .zero,
            decodeTime: .zero,
            duration: .invalid,
            isKeyFrame: true,
            formatDescription: FormatDescription(codec: codec, width: 16, height: 16, parameterSets: sets)
        )
    }

    private func units(_ data: CodedData, _ framing: NALUnitFraming = .annexB) throws -> [[UInt8]] {
        let bytes = data.withUnsafeBytes { Array($0) }
        return try framing.nalUnits(in: bytes).map { Array(bytes[$0]) }
    }

    @Test(arguments: [false, true], [false, true])
    func parameterSetsStandBehindTheDelimiterAndBeforeAllElse(hasDelimiter: Bool, asksForDelimiter: Bool) throws {
        let own: [UInt8] = [0x09, 0x10]
        let coded = (hasDelimiter ? [own] : []) + [Self.sei, Self.slice]
        let found = try units(sample(coded).annexB(withParameterSets: true, withDelimiter: asksForDelimiter))
        let front = hasDelimiter ? [own] : asksForDelimiter ? [[0x09, 0xF0]] : []
        #expect(found == front + Self.sets + [Self.sei, Self.slice])
        let prefixed = try units(sample(coded).lengthPrefixedWithParameterSets(), .lengthPrefixed(.four))
        #expect(prefixed == (hasDelimiter ? [own] : []) + Self.sets + [Self.sei, Self.slice])
    }

    @Test func recoveryPointsAreFoundInMessagesBeforeTheSlice() throws {
        let slice: [UInt8] = [0x41, 0x9A, 1, 2]
        let point = SEIMessage.nalUnit([try H264RecoveryPoint().message()], codec: .h264)
        let other = SEIMessage.nalUnit([SEIMessage(type: .init(rawValue: 5), payload: [1, 2])], codec: .h264)
        func isRecoveryPoint(_ units: [[UInt8]], isKeyFrame: Bool = false) throws -> Bool {
            var sample = try sample(units)
            sample.isKeyFrame = isKeyFrame
            return sample.isRecoveryPoint
        }
        #expect(try isRecoveryPoint([point, slice]))
        #expect(try isRecoveryPoint([[0x09, 0xF0], other, point, slice]))
        #expect(try !isRecoveryPoint([other, slice]))
        #expect(try !isRecoveryPoint([slice, point]))
        #expect(try !isRecoveryPoint([[0x06, 6, 200, 1], slice]), "a message that is longer than its unit")
        #expect(try !isRecoveryPoint([point, Self.slice], isKeyFrame: true))
    }

    @Test func unitsKeepTheirOrderAndBytes() throws {
        let coded = (1...40).map { [0x41] + [UInt8](repeating: UInt8($0), count: $0 * 50) }
        #expect(try units(sample(coded).annexB(withParameterSets: false)) == coded)
        let bytes = try sample([Self.slice]).annexB(withParameterSets: false).withUnsafeBytes { Array($0) }
        #expect(bytes == [0, 0, 0, 1] + Self.slice)
    }

    @Test func hevcHasItsOwnDelimiterAndSets() throws {
        let sets: [[UInt8]] = [[0x40, 1, 7], [0x42, 1, 8], [0x44, 1, 9]]
        let slice: [UInt8] = [0x26, 1, 0xAF]
        let plain = try sample([slice], codec: .hevc, sets: sets)
        #expect(
            try units(plain.annexB(withParameterSets: true, withDelimiter: true)) == [[0x46, 1, 0x50]] + sets + [slice]
        )
        // H.265 7.4.2.2: that of the access unit's layer.
        let layered = try sample([[0x02, 3, 0xAF]], codec: .hevc, sets: sets)
        let found = try units(layered.annexB(withParameterSets: false, withDelimiter: true))
        #expect(found == [[0x46, 3, 0x50], [0x02, 3, 0xAF]])
        let delimited = try sample([[0x46, 1, 0x10], slice], codec: .hevc, sets: sets)
        #expect(try units(delimited.annexB(withParameterSets: true)) == [[0x46, 1, 0x10]] + sets + [slice])
    }

    @Test(
        arguments: [
            [], [0], [0, 0, 0, 0], [0, 0, 0, 2, 0x65], [0, 0, 0, 1, 0x65, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0x65],
            [0, 0, 0, 1, 0x80],
        ] as [[UInt8]]
    )
    func malformedDataAreATypedError(bytes: [UInt8]) {
        let sample = sample(bytes: bytes)
        #expect(throws: MediaError.self) { try sample.accessUnitLayout() }
        #expect(throws: MediaError.self) { try sample.annexB(withParameterSets: true) }
        let error = #expect(throws: MediaError.self) { try sample.lengthPrefixedWithParameterSets() }
        #expect(error?.code == .malformedData)
    }

    @Test func decoderConfigurationHoldsTheParameterSets() throws {
        // ffmpeg -f lavfi -i testsrc2=s=16x16 -frames:v 1 -c:v libx264 -preset ultrafast -f h264: its SPS and PPS.
        let sets: [[UInt8]] = [
            [
                0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x7B, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03,
                0x03, 0x20, 0xF1, 0x22, 0x6A,
            ],
            [
                0x68, 0xCE, 0x0F, 0xC8,
            ],
        ]
        let description = FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: sets)
        let record = try AVCDecoderConfigurationRecord(bytes: description.decoderConfigurationRecord())
        #expect(record.sequenceParameterSets + record.pictureParameterSets == sets)
        #expect(record.lengthSize == .four)
        #expect((record.profileIndication, record.levelIndication) == (66, 10))
        for bad in [[], [[0x67]], [[0x68, 0xCE]]] as [[[UInt8]]] {
            let description = FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: bad)
            let error = #expect(throws: MediaError.self) { try description.decoderConfigurationRecord() }
            #expect(error?.code == .malformedData)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import GOPPlanning
import MediaTypes
import Testing

@testable import HardwareEncoder

/// What is said of pictures before their slices, and when.
@Suite struct H264MessagesTests {
    private struct Coded {
        var picture: PlannedPicture
        var units: PictureUnits
        var messages: [SEIMessage]
    }

    /// The pictures of a stream in coding order, with what is said of them.
    private func code(
        _ count: Int,
        on driver: DriverNumbers = .intel,
        forced: Set<Int64> = [],
        attachments: PixelAttachments = PixelAttachments(),
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) throws -> (setup: H264Setup, pictures: [Coded]) {
        var configuration = EncoderConfiguration(width: 640, height: 360)
        change(&configuration)
        let setup = try H264Setup(
            configuration,
            capabilities: driver.capabilities,
            vendor: driver.vendor,
            maximumReorderDepth: nil
        )
        var planner = try GOPPlanner(setup.device.structure)
        var planned: [PlannedPicture] = []
        for number in 0..<Int64(count) {
            planned += try planner.add(InputPicture(number: number, forceKeyFrame: forced.contains(number)))
        }
        planned += planner.finish()
        var messages = PictureMessages(setup)
        let pictures = try planned.map { picture in
            let units = try messages.units(picture, attachments)
            let read = try units.messages.flatMap { try SEIMessage.messages(in: $0, codec: .h264) }
            return Coded(picture: picture, units: units, messages: read)
        }
        return (setup, pictures)
    }

    /// A decoder's clock: pictures are removed one frame after the other, and shown one frame after the other in their
    /// order, none before it is removed (H.264 C.1.2 and C.4.1).
    @Test(arguments: [
        (BFrames.off, 9), (.maximum(1), 10), (.maximum(2), 7), (.maximum(3), 30), (.maximum(7), 20), (.automatic, 1),
    ])
    func everyPictureHasItsTime(bFrames: BFrames, interval: Int) throws {
        let (setup, pictures) = try code(50, forced: [13, 14, 31]) {
            ($0.rateControl, $0.bFrames) = (.constantBitRate(1_000_000), bFrames)
            $0.keyFrameInterval.frames = interval
        }
        let sequence = setup.stream.sequence
        var (periodStart, removal, outputs) = (0, 0, [Int64: Int]())
        for (index, coded) in pictures.enumerated() {
            #expect(coded.messages.map(\.type).contains(.bufferingPeriod) == (coded.picture.kind == .idr))
            if coded.picture.kind == .idr { #expect(coded.messages.first?.type == .bufferingPeriod) }
            let message = try #require(coded.messages.first { $0.type == .pictureTiming })
            let timing = try H264PictureTiming(payload: message.payload, for: sequence)
            removal = periodStart + Int(timing.cpbRemovalDelay)
            #expect(removal == 2 * index)
            outputs[coded.picture.number] = removal + Int(timing.dpbOutputDelay)
            if coded.picture.kind == .idr { periodStart = removal }
        }
        let shown = outputs.sorted { $0.key < $1.key }.map(\.value)
        #expect(shown == (0..<50).map { 2 * ($0 + setup.device.structure.reorderDepth) })
    }

    @Test func theDelayIsThatOfTheFullness() throws {
        let (setup, pictures) = try code(3) {
            ($0.rateControl, $0.initialBufferFullness) = (.constantBitRate(2_000_000, window: 1.5), 0.6)
        }
        let payload = try #require(pictures.first?.messages.first).payload
        let period = try H264BufferingPeriod(payload: payload, for: setup.stream.sequence)
        #expect(period.nal == [.init(81_000)])
        #expect(setup.device.rate.initialFullness == 1_800_000)
    }

    @Test func nothingIsSaidOfRatesThatAreNotToldOrNotKept() throws {
        #expect(try code(3).pictures.allSatisfy { $0.messages.isEmpty })
        let amd = try code(3, on: .amd) { $0.rateControl = .constantBitRate(1_000_000) }
        #expect(amd.pictures.allSatisfy { $0.messages.isEmpty } && amd.setup.stream.sequence.vui?.nalHRD == nil)
        let variable = try code(3) { ($0.rateControl, $0.isFrameRateVariable) = (.constantBitRate(1_000_000), true) }
        #expect(variable.setup.stream.sequence.vui?.nalHRD == nil)
        #expect(variable.pictures.allSatisfy { $0.messages.isEmpty })
    }

    @Test func decodersAreToldWhereTheyCanBegin() throws {
        let open = try code(20) { ($0.allowsOpenGOP, $0.keyFrameInterval.frames) = (true, 6) }
        for coded in open.pictures {
            let point = try coded.messages.first.map { try H264RecoveryPoint(payload: $0.payload) }
            #expect(point == (coded.picture.kind == .recoveryPoint ? H264RecoveryPoint() : nil))
        }
        #expect(open.pictures.contains { $0.picture.kind == .recoveryPoint })
        let wave = try code(30, on: .skylake) { ($0.usesIntraRefresh, $0.keyFrameInterval.frames) = (true, 8) }
        let begins = wave.pictures.filter { $0.messages.map(\.type) == [.recoveryPoint] }
        #expect(begins.count == 4 && begins.allSatisfy { $0.picture.refreshPosition == 0 })
        let point = try H264RecoveryPoint(payload: begins[0].messages[0].payload)
        #expect(point == H264RecoveryPoint(recoveryFrameCnt: 7, exactMatchFlag: false))
    }

    /// H.264 D.2.2: where rates are told, a decoder that begins at a recovery point has to learn how full its buffer is.
    @Test(arguments: [true, false]) func recoveryPointsBeginBufferingPeriods(isWave: Bool) throws {
        let (setup, pictures) = try code(40, on: isWave ? .skylake : .intel) {
            ($0.rateControl, $0.keyFrameInterval.frames) = (.constantBitRate(1_000_000), 8)
            ($0.usesIntraRefresh, $0.allowsOpenGOP) = (isWave, !isWave)
        }
        var (begun, periodStart) = (0, 0)
        for (index, coded) in pictures.enumerated() {
            let types = coded.messages.map(\.type)
            let isPoint = types.contains(.recoveryPoint)
            let begins = coded.picture.kind == .idr || isPoint
            #expect(types == (begins ? [.bufferingPeriod] : []) + [.pictureTiming] + (isPoint ? [.recoveryPoint] : []))
            #expect(coded.units.beginsBufferingPeriod == begins)
            let payload = try #require(coded.messages.first { $0.type == .pictureTiming }).payload
            let timing = try H264PictureTiming(payload: payload, for: setup.stream.sequence)
            #expect(Int(timing.cpbRemovalDelay) == 2 * (index - periodStart))
            if begins { (begun, periodStart) = (begun + 1, index) }
            let corrected = try PictureMessages.withInitialDelay(4_321, in: coded.units, of: setup.stream)
            #expect((corrected == coded.units) == !begins)
        }
        #expect(begun == (isWave ? 6 : 5), "an IDR picture and its wave, or every eighth")
    }

    /// H.264 table 7-5.
    @Test func delimitersSayWhichSlicesThereAre() throws {
        let (_, pictures) = try code(9) { $0.accessUnitDelimiters = true }
        for coded in pictures {
            let type: UInt8 = coded.picture.kind == .idr ? 0x10 : coded.picture.kind == .p ? 0x30 : 0x50
            #expect(coded.units.delimiter == [9, type])
        }
        #expect(Set(pictures.map(\.picture.kind)) == [.idr, .p, .b])
        #expect(try code(3).pictures.allSatisfy { $0.units == PictureUnits() })
    }

    @Test func captionsComeWithEveryPicture() throws {
        let attachments = PixelAttachments(captions: [0xFC, 0x94, 0x2C])
        let (_, pictures) = try code(9, on: .amd, attachments: attachments)
        #expect(pictures.allSatisfy { $0.messages == CaptionMessage.messages([0xFC, 0x94, 0x2C]) })
    }

    /// The bytes of D.1.29 and D.1.31, by hand.
    @Test func theDisplayIsToldWithKeyFrames() throws {
        let display = MasteringDisplay(
            red: .init(x: 35400, y: 14600),
            green: .init(x: 8500, y: 39850),
            blue: .init(x: 6550, y: 2300),
            whitePoint: .init(x: 15635, y: 16450),
            maximumLuminance: 10_000_000,
            minimumLuminance: 1
        )
        let light = ContentLightLevel(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 400)
        let (_, pictures) = try code(9) {
            ($0.masteringDisplay, $0.contentLight, $0.keyFrameInterval.frames) = (display, light, 4)
        }
        for coded in pictures where coded.picture.kind != .idr { #expect(coded.messages.isEmpty) }
        let keys = pictures.filter { $0.picture.kind == .idr }
        #expect(keys.count == 3)
        for key in keys {
            #expect(key.messages.map(\.type) == [.masteringDisplay, .contentLightLevel])
            #expect(
                key.messages[0].payload == [
                    0x21, 0x34, 0x9B, 0xAA, 0x19, 0x96, 0x08, 0xFC, 0x8A, 0x48, 0x39, 0x08, 0x3D, 0x13, 0x40, 0x42,
                    0x00, 0x98, 0x96, 0x80, 0x00, 0x00, 0x00, 0x01,
                ]
            )
            #expect(key.messages[1].payload == [0x03, 0xE8, 0x01, 0x90])
        }
        let attached = try code(2, attachments: PixelAttachments(masteringDisplay: display))
        #expect(attached.pictures[0].messages.map(\.type) == [.masteringDisplay])
    }
}

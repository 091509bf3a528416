// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLibVA
import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

/// What of the parameters that all codecs share reaches a driver, and when.
@Suite struct MiscellaneousParametersTests {
    private func parameters(
        _ driver: DriverNumbers,
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) throws -> (MiscellaneousParameters, H264Setup) {
        var configuration = EncoderConfiguration(width: 1280, height: 720)
        change(&configuration)
        let setup = try H264Setup(
            configuration,
            capabilities: driver.capabilities,
            vendor: driver.vendor,
            maximumReorderDepth: nil
        )
        return (MiscellaneousParameters(setup.device, configuration), setup)
    }

    private func kinds(_ list: ParameterList) -> [UInt32] {
        list.entries.map { entry in
            list.bytes[entry.range].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        }
    }

    private func value<Value>(_ list: ParameterList, _ kind: VAEncMiscParameterType, _: Value.Type) -> Value? {
        zip(list.entries, kinds(list)).first { $1 == kind.rawValue }.map { entry, _ in
            list.bytes[entry.range].withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 4, as: Value.self) }
        }
    }

    private static let rate = VAEncMiscParameterTypeRateControl.rawValue
    private static let frames = VAEncMiscParameterTypeFrameRate.rawValue
    private static let buffer = VAEncMiscParameterTypeHRD.rawValue

    @Test func whatHoldsForAllComesWithIDRPicturesAndAfterChanges() throws {
        var (parameters, setup) = try parameters(.intel) {
            $0.rateControl = .constantBitRate(2_000_000)
            ($0.hardware.qualityLevel, $0.maximumFrameSize) = (4, 40_000)
        }
        let all = [
            Self.rate, Self.buffer, Self.frames, VAEncMiscParameterTypeQualityLevel.rawValue,
            VAEncMiscParameterTypeMaxFrameSize.rawValue,
        ]
        func next(isIDR: Bool) -> [UInt32] {
            var list = ParameterList()
            parameters.append(to: &list, .init(isIDR: isIDR))
            return kinds(list)
        }
        #expect(next(isIDR: true) == all)
        #expect(next(isIDR: false) == [])
        #expect(next(isIDR: true) == all)
        parameters.change(setup.device.rate, frameRate: Rational(30))
        #expect(next(isIDR: false) == [])
        setup.device.rate.target?.peak = 1_000_000
        parameters.change(setup.device.rate, frameRate: Rational(30))
        #expect(next(isIDR: false) == [Self.rate, Self.buffer, Self.frames])
        #expect(next(isIDR: false) == [])
        parameters.change(setup.device.rate, frameRate: Rational(25))
        #expect(next(isIDR: false) == [Self.rate, Self.buffer, Self.frames])
    }

    @Test func constantRates() throws {
        var (parameters, _) = try parameters(.intel) {
            ($0.rateControl, $0.frameRate) = (.constantBitRate(2_000_000, window: 0.5), Rational(30000, 1001))
            ($0.quantizerRange, $0.initialBufferFullness) = (18...40, 0.9)
        }
        var list = ParameterList()
        parameters.append(to: &list, .init(isIDR: true))
        let rate = try #require(value(list, VAEncMiscParameterTypeRateControl, VAEncMiscParameterRateControl.self))
        #expect(rate.bits_per_second == 2_000_000 && rate.target_percentage == 100 && rate.window_size == 500)
        #expect(rate.min_qp == 18 && rate.max_qp == 40 && (18...40).contains(rate.initial_qp))
        #expect(rate.rc_flags.bits.disable_bit_stuffing == 0 && rate.rc_flags.bits.mb_rate_control == 0)
        let buffer = try #require(value(list, VAEncMiscParameterTypeHRD, VAEncMiscParameterHRD.self))
        #expect(buffer.buffer_size == 1_000_000 && buffer.initial_buffer_fullness == 900_000)
        let frames = try #require(value(list, VAEncMiscParameterTypeFrameRate, VAEncMiscParameterFrameRate.self))
        #expect(frames.framerate == 1001 << 16 | 30000)
    }

    @Test func otherModes() throws {
        func list(
            _ driver: DriverNumbers,
            _ control: RateControl,
            _ change: (inout EncoderConfiguration) -> Void = { _ in }
        ) throws -> ParameterList {
            var (parameters, _) = try parameters(driver) {
                $0.rateControl = control
                change(&$0)
            }
            var list = ParameterList()
            parameters.append(to: &list, .init(isIDR: true))
            return list
        }
        func rate(_ list: ParameterList) -> VAEncMiscParameterRateControl? {
            value(list, VAEncMiscParameterTypeRateControl, VAEncMiscParameterRateControl.self)
        }
        #expect(kinds(try list(.intel, .constantQuantizer(30))) == [])
        let icq = try list(.dg2, .constantQuality(24))
        #expect(kinds(icq) == [Self.rate] && rate(icq)?.ICQ_quality_factor == 24 && rate(icq)?.bits_per_second == 0)
        let qvbr = try list(.dg2, .constantQuality(24, peak: .limit(3_000_000)))
        #expect(kinds(qvbr) == [Self.rate, Self.buffer, Self.frames])
        #expect(rate(qvbr)?.ICQ_quality_factor == 0 && rate(qvbr)?.quality_factor == 24)
        let free = try list(.intel, .averageBitRate(1_000_000, peak: .unlimited))
        #expect(kinds(free) == [Self.rate, Self.frames] && rate(free)?.rc_flags.bits.disable_bit_stuffing == 1)
        #expect(rate(free)?.bits_per_second == 1_000_000 && rate(free)?.target_percentage == 100)
        let macroblocks = try list(.skylake, .averageBitRate(1_000_000)) { $0.hardware.controlsMacroblocks = false }
        #expect(rate(macroblocks)?.rc_flags.bits.mb_rate_control == 2)
        let without = try list(.intel, .averageBitRate(1_000_000)) { $0.hardware.controlsMacroblocks = true }
        #expect(rate(without)?.rc_flags.bits.mb_rate_control == 0)
    }

    /// Mesa leaves out what is not a whole block; H.264 has blocks of 16, HEVC of 64.
    @Test(arguments: [("one without quirks", 20, 40, 10), (DriverVersionTests.mesa25, 16, 48, 16)])
    func regionsAreMadeOfWholeBlocks(vendor: String, start: Int, width: Int, height: Int) throws {
        var setup = try parameters(.dg2).1
        setup.device.quirks = Quirks(vendor: vendor, codec: .h264)
        var parameters = MiscellaneousParameters(setup.device, setup.stream.configuration)
        var list = ParameterList()
        let region = RegionOfInterest(x: 20, y: 3, width: 40, height: 10, quantizerOffset: -4)
        let last = RegionOfInterest(x: 1276, y: 719, width: 4, height: 1, quantizerOffset: -4)
        parameters.append(to: &list, .init(isIDR: true))
        list.removeAll()
        parameters.append(to: &list, .init(isIDR: false, regions: [region, last]))
        let sent = try #require(value(list, VAEncMiscParameterTypeROI, VAEncMiscParameterBufferROI.self))
        let rectangles = try #require(sent.roi)
        #expect(Int(rectangles[0].roi_rectangle.x) == start && Int(rectangles[0].roi_rectangle.width) == width)
        #expect(Int(rectangles[0].roi_rectangle.height) == height)
        #expect(Int(rectangles[1].roi_rectangle.width) == (height == 16 ? 16 : 4))
    }

    @Test func regionsAreCutToPictureAndNumber() throws {
        var (parameters, _) = try parameters(.skylake) { $0.hardware.controlsMacroblocks = true }
        var list = ParameterList()
        let region = RegionOfInterest(x: -16, y: 700, width: 32, height: 100, quantizerOffset: -80)
        let outside = RegionOfInterest(x: 1280, y: 0, width: 16, height: 16, quantizerOffset: 1)
        let huge = RegionOfInterest(x: 0, y: 0, width: .max, height: .max, quantizerOffset: 5)
        parameters.append(to: &list, .init(isIDR: true))
        list.removeAll()
        parameters.append(to: &list, .init(isIDR: false, regions: [outside, region, huge, huge, huge]))
        #expect(kinds(list) == [VAEncMiscParameterTypeROI.rawValue])
        let sent = try #require(value(list, VAEncMiscParameterTypeROI, VAEncMiscParameterBufferROI.self))
        #expect(sent.min_delta_qp == -8 && sent.max_delta_qp == 7)
        #expect(sent.num_roi == 3 && sent.roi_flags.bits.roi_value_is_qp_delta == 1)
        let first = try #require(sent.roi)[0]
        #expect(first.roi_rectangle.x == 0 && first.roi_rectangle.y == 700 && first.roi_value == -8)
        #expect(first.roi_rectangle.width == 16 && first.roi_rectangle.height == 20)
        let second = try #require(sent.roi)[1]
        #expect(second.roi_rectangle.width == 1280 && second.roi_rectangle.height == 720 && second.roi_value == 5)
        list.removeAll()
        parameters.append(to: &list, .init(isIDR: false, regions: [outside]))
        #expect(list.entries.isEmpty)
    }

    @Test func theWaveMovesOn() throws {
        var (parameters, setup) = try parameters(.skylake) {
            ($0.usesIntraRefresh, $0.keyFrameInterval.frames) = (true, 30)
        }
        var next = 0
        for position in 0..<(setup.device.intraRefresh?.period ?? 0) {
            var list = ParameterList()
            parameters.append(to: &list, .init(isIDR: false, refreshPosition: position))
            let sent = try #require(value(list, VAEncMiscParameterTypeRIR, VAEncMiscParameterRIR.self))
            #expect(sent.rir_flags.bits.enable_rir_column == 1 && sent.rir_flags.bits.enable_rir_row == 0)
            #expect(Int(sent.intra_insertion_location) == max(next - 1, 0))
            next = Int(sent.intra_insertion_location) + Int(sent.intra_insert_size)
        }
        #expect(next == 80)
    }

    @Test(arguments: [
        (Rational(30), 65535), (Rational(30000, 1001), 4095), (Rational(1, 100), 4095), (Rational(25_000, 1000), 4095),
        (Rational(120_000, 1001), 65535), (Rational(24_001, 5003), 4095), (Rational(999_983, 1_000_003), 4095),
    ])
    func frameRatesFit(rate: Rational, limit: Int) {
        let (top, bottom) = rate.fitting16Bits(denominator: limit)
        let fitted = Double(top) / Double(bottom)
        #expect(abs(fitted / rate.doubleValue - 1) < 0.0001, "\(top)/\(bottom)")
        #expect(Int(bottom) <= limit && top > 0)
        if rate.numerator <= 65535, rate.denominator <= limit { #expect(fitted == rate.doubleValue) }
    }
}

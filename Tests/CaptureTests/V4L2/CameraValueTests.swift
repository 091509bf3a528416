// SPDX-License-Identifier: GPL-2.0-or-later

import CVideo4Linux
import MediaTypes
import Testing

@testable import Capture

/// The colour that a driver states. The expected code points are those of ITU-T H.273.
@Suite(.blocks) struct CameraColorTests {
    private struct Case {
        var color: CameraColor
        var codes: [UInt8]
        var range: ColorDescription.Range
        init(
            _ space: v4l2_colorspace,
            _ codes: [UInt8],
            _ range: ColorDescription.Range,
            encoding: v4l2_ycbcr_encoding = V4L2_YCBCR_ENC_DEFAULT,
            quantization: v4l2_quantization = V4L2_QUANTIZATION_DEFAULT,
            transfer: v4l2_xfer_func = V4L2_XFER_FUNC_DEFAULT
        ) {
            color = CameraColor(
                colorspace: space.rawValue,
                encoding: encoding.rawValue,
                quantization: quantization.rawValue,
                transfer: transfer.rawValue
            )
            (self.codes, self.range) = (codes, range)
        }
    }

    private static let cases: [Case] = [
        // Nothing stated but the range, which is limited for luma and chroma.
        Case(V4L2_COLORSPACE_DEFAULT, [2, 2, 2], .limited),
        Case(V4L2_COLORSPACE_SMPTE170M, [6, 1, 6], .limited),
        Case(V4L2_COLORSPACE_SMPTE240M, [7, 7, 7], .limited),
        Case(V4L2_COLORSPACE_REC709, [1, 1, 1], .limited),
        Case(V4L2_COLORSPACE_470_SYSTEM_M, [4, 1, 6], .limited),
        Case(V4L2_COLORSPACE_470_SYSTEM_BG, [5, 1, 6], .limited),
        // USB cameras.
        Case(V4L2_COLORSPACE_SRGB, [1, 13, 6], .limited),
        Case(V4L2_COLORSPACE_JPEG, [1, 13, 6], .full),
        Case(V4L2_COLORSPACE_OPRGB, [2, 4, 6], .limited),
        Case(V4L2_COLORSPACE_BT2020, [9, 14, 9], .limited),
        Case(V4L2_COLORSPACE_DCI_P3, [11, 17, 1], .limited),
        Case(V4L2_COLORSPACE_RAW, [2, 8, 2], .limited),
        Case(v4l2_colorspace(99), [2, 2, 2], .limited),
        // What is stated comes first.
        Case(V4L2_COLORSPACE_SRGB, [1, 13, 1], .limited, encoding: V4L2_YCBCR_ENC_709),
        Case(
            V4L2_COLORSPACE_REC709,
            [1, 1, 6],
            .full,
            encoding: V4L2_YCBCR_ENC_601,
            quantization: V4L2_QUANTIZATION_FULL_RANGE
        ),
        Case(V4L2_COLORSPACE_JPEG, [1, 13, 6], .limited, quantization: V4L2_QUANTIZATION_LIM_RANGE),
        Case(
            V4L2_COLORSPACE_BT2020,
            [9, 16, 10],
            .limited,
            encoding: V4L2_YCBCR_ENC_BT2020_CONST_LUM,
            transfer: V4L2_XFER_FUNC_SMPTE2084
        ),
        Case(V4L2_COLORSPACE_BT2020, [9, 14, 9], .limited, transfer: V4L2_XFER_FUNC_709),
        Case(V4L2_COLORSPACE_SRGB, [1, 1, 6], .limited, transfer: V4L2_XFER_FUNC_709),
        Case(
            V4L2_COLORSPACE_RAW,
            [2, 8, 7],
            .limited,
            encoding: V4L2_YCBCR_ENC_SMPTE240M,
            transfer: V4L2_XFER_FUNC_NONE
        ),
    ]

    @Test(arguments: cases.indices) func theColourIsThatOfTheDriver(index: Int) {
        let one = Self.cases[index]
        let color = one.color.description
        #expect([color.primaries.rawValue, color.transfer.rawValue, color.matrix.rawValue] == one.codes)
        #expect(color.range == one.range && color.chromaLocation == nil)
    }
}

@Suite(.blocks) struct CameraTimingTests {
    @Test(
        arguments: [
            ([0, 1, 2], [0, 0, 0]), ([5, 6, 9, 10], [0, 0, 2, 0]), ([7, 7, 7], [0, 0, 0]),
            ([UInt32.max - 1, UInt32.max, 0, 2], [0, 0, 0, 1]), ([100, 3, 4], [0, 0, 0]),
        ] as [([UInt32], [Int])]
    )
    func gapsInTheNumbersAreLosses(numbers: [UInt32], losses: [Int]) {
        var timing = CameraTiming()
        #expect(numbers.map { timing.lost(before: $0) } == losses)
    }

    @Test func skippedPicturesCountOnce() {
        var timing = CameraTiming()
        timing.skip()
        #expect(timing.lost(before: 1) == 1)
        timing.skip()
        timing.skip()
        #expect(timing.lost(before: 4) == 2)
        timing.skip()
        #expect(timing.lost(before: 9) == 4)
        #expect(timing.lost(before: 10) == 0)
        timing.skip()
        #expect(timing.lost(before: 10) == 1)
    }

    @Test func timesAreThoseOfTheDriverIfTheyCanBe() {
        let monotonic = UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        let start = monotonic | UInt32(V4L2_BUF_FLAG_TSTAMP_SRC_SOE)
        let copied = UInt32(V4L2_BUF_FLAG_TIMESTAMP_COPY)
        var timing = CameraTiming()
        #expect(timing.clock == nil)
        let second: Int64 = 1_000_000_000
        #expect(timing.time(second, flags: start, arrival: 2 * second) == second && timing.clock == .startOfExposure)
        // Never earlier than the previous one.
        #expect(timing.time(second, flags: start, arrival: 2 * second) == second + 1)
        #expect(
            timing.time(3 * second, flags: monotonic, arrival: 4 * second) == 3 * second && timing.clock == .endOfFrame
        )
        #expect(timing.time(3 * second, flags: copied, arrival: 5 * second) == 5 * second && timing.clock == .arrival)
        #expect(timing.time(6 * second, flags: 0, arrival: 7 * second) == 7 * second && timing.clock == .arrival)
        // CLOCK_REALTIME, and no time at all.
        #expect(timing.time(1_700_000_000 * second, flags: start, arrival: 8 * second) == 8 * second)
        #expect(timing.time(0, flags: start, arrival: 9 * second) == 9 * second && timing.clock == .arrival)
    }
}

@Suite(.blocks) struct CameraLayoutTests {
    @Test func planesFollowTheRowsThatTheDriverStates() throws {
        let nv12 = try #require(CameraLayout(.nv12, width: 6, height: 4, bytesPerRow: [16]))
        #expect(nv12.planes.map(\.layout) == [.init(offset: 0, bytesPerRow: 16), .init(offset: 64, bytesPerRow: 16)])
        #expect(nv12.byteCounts == [64 + 16 + 6])
        let i420 = try #require(CameraLayout(.i420, width: 6, height: 4, bytesPerRow: [16]))
        #expect(
            i420.planes.map(\.layout.offset) == [0, 64, 80] && i420.planes.map(\.layout.bytesPerRow) == [16, 8, 8]
        )
        let planes = try #require(CameraLayout(.i420Planes, width: 6, height: 4, bytesPerRow: [16, 12, 8]))
        #expect(planes.planes.map(\.layout.offset) == [0, 0, 0] && planes.planes.map(\.object) == [0, 1, 2])
        #expect(planes.planes.map(\.layout.bytesPerRow) == [16, 12, 8] && planes.byteCounts == [54, 15, 11])
        // No stride stated, and one that is too short.
        let yuyv = try #require(CameraLayout(.yuyv, width: 6, height: 4, bytesPerRow: []))
        #expect(yuyv.planes.map(\.layout.bytesPerRow) == [12] && yuyv.byteCounts == [48])
        #expect(CameraLayout(.yuyv, width: 6, height: 4, bytesPerRow: [3])?.byteCounts == [48])
        #expect(CameraLayout(.mjpeg, width: 6, height: 4, bytesPerRow: [0]) == nil)
        #expect(CameraLayout(.nv12, width: 0, height: 4, bytesPerRow: [0]) == nil)
    }

    @Test func aPictureIsCompleteWithItsLastSample() throws {
        let layout = try #require(CameraLayout(.nv12Planes, width: 4, height: 2, bytesPerRow: [8, 8]))
        #expect(layout.byteCounts == [12, 4])
        typealias Filled = CameraQueue.Filled
        #expect(layout.isComplete([Filled(byteCount: 12, offset: 0), Filled(byteCount: 4, offset: 0)]))
        #expect(!layout.isComplete([Filled(byteCount: 12, offset: 0), Filled(byteCount: 3, offset: 0)]))
        #expect(!layout.isComplete([Filled(byteCount: 12, offset: 1), Filled(byteCount: 4, offset: 0)]))
        #expect(!layout.isComplete([Filled(byteCount: 12, offset: 0)]))
        let shifted = layout.planes(in: [Filled(byteCount: 99, offset: 5), Filled(byteCount: 99, offset: 7)])
        #expect(shifted.map(\.layout.offset) == [5, 7])
    }
}

@Suite(.blocks) struct CameraRateTests {
    @Test(
        arguments: [
            (1, 30, 30, 1), (1001, 30000, 30000, 1001), (333_333, 10_000_000, 10_000_000, 333_333), (2, 60, 30, 1),
            (1, 4_294_967_295, 2_147_483_647, 0), (4_294_967_295, 4_294_967_294, 2_147_483_647, 2_147_483_647),
        ] as [(UInt32, UInt32, Int32, Int32)]
    )
    func anIntervalIsTheInverseOfARate(top: UInt32, bottom: UInt32, numerator: Int32, denominator: Int32) {
        let rate = Rational(interval: v4l2_fract(numerator: top, denominator: bottom))
        if denominator == 0 {
            #expect(rate == nil)
        } else {
            #expect(rate?.numerator == numerator && rate?.denominator == denominator)
        }
    }

    @Test func noIntervalIsNoRate() {
        #expect(Rational(interval: v4l2_fract(numerator: 0, denominator: 30)) == nil)
        #expect(Rational(interval: v4l2_fract(numerator: 1, denominator: 0)) == nil)
    }
}

@Suite(.blocks) struct CameraControlTests {
    @Test(arguments: [
        ("White Balance Temperature, Auto", "white_balance_temperature_auto"), ("Brightness", "brightness"),
        ("focus-absolute", "focus_absolute"), ("  Gain (dB) ", "gain_db"), ("", ""),
    ])
    func aKeyIsTheSameInEveryForm(name: String, key: String) {
        #expect(V4L2Camera.Control.key(name) == key && V4L2Camera.Control.key(key) == key)
    }

    @Test func valuesAreThoseOfTheRange() throws {
        let full = V4L2Camera.Control(id: 1, name: "Full", kind: .integer, range: .min ... .max, step: .max)
        #expect(try full.number(of: 5) == 5 && full.number(of: .number(.max)) == .max)
        let steps = V4L2Camera.Control(id: 1, name: "Steps", kind: .integer, range: -10...10, step: 5)
        #expect(try steps.number(of: -5) == -5 && steps.number(of: "10") == 10)
        for value in [-11, 11, 4] as [V4L2Camera.Setting.Value] {
            #expect(throws: MediaError.self) { try steps.number(of: value) }
        }
        #expect(throws: MediaError.self) { try steps.number(of: "ten") }
        let bits = V4L2Camera.Control(id: 1, name: "Bits", kind: .bitmask, range: 0...5)
        #expect(try bits.number(of: 4) == 4)
        #expect(throws: MediaError.self) { try bits.number(of: 2) }
        #expect(throws: MediaError.self) { try bits.number(of: -1) }
    }
}

@Suite(.blocks) struct AccessUnitContentTests {
    @Test(
        arguments: [
            ([0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1, 0, 0, 1, 0x65, 1], .keyFrame), ([0, 0, 1, 0x41, 1], .picture),
            ([0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1], .parameterSets), ([], .damaged),
            ([0, 0, 0, 5, 0x65, 1], .damaged),
            ([0, 0, 0, 1], .damaged),
        ] as [([UInt8], AccessUnitContent)]
    )
    func theKindOfABufferIsThatOfItsUnits(bytes: [UInt8], content: AccessUnitContent) {
        #expect(bytes.withUnsafeBytes { AccessUnitContent($0) } == content)
    }
}

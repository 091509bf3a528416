// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Capture

@Suite(.blocks) struct CameraModeTests {
    typealias Request = V4L2Camera.Request

    /// A USB camera: little bandwidth for YUYV, much for MJPEG.
    private static let webcam = V4L2Camera.Device(
        path: "/dev/video0",
        name: "Webcam",
        formats: [
            .init(
                code: .mjpeg,
                name: "Motion-JPEG",
                sizes: [
                    .init(1920, 1080, rates: .list([30, 15])), .init(1280, 720, rates: .list([60, 30])),
                    .init(640, 480, rates: .list([30])),
                ]
            ),
            .init(
                code: .yuyv,
                name: "YUYV 4:2:2",
                sizes: [
                    .init(640, 480, rates: .list([30, 15])), .init(1280, 720, rates: .list([10, 5])),
                    .init(1920, 1080, rates: .list([5])),
                ]
            ),
            .init(code: .h264, name: "H.264", sizes: [.init(1920, 1080, rates: .list([30]))]),
            .init(code: .init(rawValue: 0x5942_5247), name: "unknown", sizes: [.init(320, 240)]),
        ]
    )

    /// A camera on a board: all sizes in steps, any rate.
    private static let board = V4L2Camera.Device(
        path: "/dev/video0",
        name: "Board",
        formats: [V4L2Camera.FormatCode.yuyv, .i420, .nv12].map { code in
            V4L2Camera.Format(
                code: code,
                name: "\(code)",
                sizes: [
                    .init(
                        width: 32...2592,
                        height: 32...1944,
                        widthStep: 32,
                        heightStep: 2,
                        rates: .range(least: 1, highest: 90)
                    )
                ]
            )
        }
    )

    /// A capture card that says little.
    private static let card = V4L2Camera.Device(
        path: "/dev/video0",
        name: "Card",
        formats: [
            .init(code: .yuyv, name: "YUYV", sizes: [.init(720, 576)]),
            .init(code: .nv12, name: "NV12", sizes: [.init(720, 576, rates: .list([Rational(30000, 1001)]))]),
        ]
    )

    private struct Case: CustomTestStringConvertible {
        var device: V4L2Camera.Device
        var request: Request
        var mode: String
        var reason: String
        var testDescription: String { mode }
        init(_ device: V4L2Camera.Device, _ request: Request, _ mode: String, _ reason: String) {
            (self.device, self.request, self.mode, self.reason) = (device, request, mode, reason)
        }
    }

    private static let asked = "the camera has what was asked for"
    private static let cases: [Case] = [
        Case(webcam, .init(), "MJPG 1280x720 30", "MJPG is nearest to 30 fps there: YUYV has 10 fps"),
        Case(webcam, .init(size: .init(640, 480)), "YUYV 640x480 30", "YUYV costs less than MJPG"),
        Case(webcam, .init(size: .init(640, 480), frameRate: 20), "YUYV 640x480 30", "YUYV costs less than MJPG"),
        Case(webcam, .init(size: .init(640, 480), frameRate: 15), "YUYV 640x480 15", asked),
        Case(
            webcam,
            .init(size: .init(640, 480), frameRate: 60),
            "MJPG 1280x720 60",
            "1280x720 is the nearest size that is not below 640x480; MJPG is nearest to 60 fps there: YUYV has 10 fps"
        ),
        Case(webcam, .init(size: .init(1280, 720), frameRate: 10), "YUYV 1280x720 10", asked),
        Case(
            webcam,
            .init(size: .init(1920, 1080), format: .yuyv),
            "YUYV 1920x1080 5",
            "5 fps is the highest frame rate there"
        ),
        Case(webcam, .init(size: .init(1920, 1080), frameRate: 30, format: .h264), "H264 1920x1080 30", asked),
        Case(webcam, .init(size: .init(640, 480), format: .mjpeg), "MJPG 640x480 30", asked),
        Case(
            webcam,
            .init(size: .init(1, 481), frameRate: 5, format: .yuyv),
            "YUYV 1280x720 5",
            "1280x720 is the nearest size that is not below 1x481"
        ),
        Case(board, .init(), "NV12 1280x720 30", "NV12 costs less than YUYV and YU12"),
        Case(
            board,
            .init(size: .init(1000, 701), frameRate: Rational(25, 2)),
            "NV12 1024x702 25/2",
            "1024x702 is the nearest size that is not below 1000x701; NV12 costs less than YUYV and YU12"
        ),
        Case(
            board,
            .init(size: .init(1, 1), format: .i420),
            "YU12 32x32 30",
            "32x32 is the nearest size that is not below 1x1"
        ),
        Case(
            card,
            .init(),
            "NV12 720x576 30000/1001",
            "720x576 is the largest size of the camera"
        ),
        Case(card, .init(size: .init(720, 576), frameRate: 30), "NV12 720x576 30000/1001", asked),
        Case(
            card,
            .init(size: .init(720, 576), frameRate: 50),
            "YUYV 720x576 -",
            "YUYV is nearest to 50 fps there: NV12 has 30000/1001 fps"
        ),
    ]

    @Test(arguments: cases.indices) func theModeIsTheNearest(index: Int) throws {
        let one = Self.cases[index]
        let mode = try V4L2Camera.mode(for: one.request, of: one.device)
        #expect("\(mode.code) \(mode.width)x\(mode.height) \(mode.frameRate?.description ?? "-")" == one.mode)
        #expect(mode.reason == one.reason)
    }

    private static let impossible: [(Request, MediaError.Code)] = [
        (.init(size: .init(1921, 1080)), .unsupported), (.init(size: .init(640, 1081)), .unsupported),
        (.init(frameRate: 61), .unsupported), (.init(size: .init(1920, 1080), frameRate: 60), .unsupported),
        (.init(format: .nv12), .unsupported), (.init(size: .init(0, 1)), .invalidArgument),
        (.init(size: .init(1, -1)), .invalidArgument), (.init(size: .init(1 << 20, 1)), .invalidArgument),
        (.init(size: .init(.max, .max)), .invalidArgument), (.init(frameRate: Rational(-1, 1)), .invalidArgument),
        (.init(frameRate: Rational(1, 0)), .invalidArgument),
    ]

    @Test(arguments: impossible.indices) func anImpossibleRequestIsRefused(index: Int) throws {
        let (request, code) = Self.impossible[index]
        let error = try #require(throws: MediaError.self) { _ = try V4L2Camera.mode(for: request, of: Self.webcam) }
        #expect(error.code == code && error.given != nil)
        if code == .unsupported { #expect(error.allowed?.contains("YUYV 640x480 at 30 and 15 fps") == true) }
    }

    @Test func aCameraWithoutFormatsIsRefused() throws {
        let error = try #require(throws: MediaError.self) {
            _ = try V4L2Camera.mode(for: .init(), of: .init(path: "/dev/video0", name: ""))
        }
        #expect(error.code == .unsupported && error.allowed == "no format")
    }

    /// Whatever a camera offers, the mode is one of its own and large enough.
    @Test func aRandomCameraHasTheModeThatIsChosen() throws {
        var generator = SplitGenerator(state: 7)
        for _ in 0..<2000 {
            func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
            let codes = V4L2Camera.FormatPreference.auto.codes
            let formats = (0..<number(1...3)).map { _ in
                let sizes = (0..<number(1...3)).map { _ in
                    let (width, height) = (number(1...40), number(1...40))
                    return V4L2Camera.Sizes(
                        width: width...width + number(0...40),
                        height: height...height + number(0...40),
                        widthStep: number(1...9),
                        heightStep: number(1...9),
                        rates: .list([Rational(Int32(number(1...60)))])
                    )
                }
                return V4L2Camera.Format(code: codes[number(0...codes.count - 1)], name: "", sizes: sizes)
            }
            let device = V4L2Camera.Device(path: "", name: "", formats: formats)
            let size = Request.Size(number(1...80), number(1...80))
            let rate = Rational(Int32(number(1...60)))
            let fits = formats.flatMap { format in
                format.sizes.flatMap { sizes in
                    stride(from: sizes.width.lowerBound, through: sizes.width.upperBound, by: sizes.widthStep).flatMap {
                        width in
                        stride(from: sizes.height.lowerBound, through: sizes.height.upperBound, by: sizes.heightStep)
                            .map { (format.code, width, $0, sizes.rates) }
                    }
                }
            }.filter { offer in
                guard case .list(let rates) = offer.3 else { return false }
                return offer.1 >= size.width && offer.2 >= size.height
                    && rates.contains { Double($0.numerator) >= 0.99 * rate.doubleValue }
            }
            let mode = try? V4L2Camera.mode(for: .init(size: size, frameRate: rate), of: device)
            guard let mode else {
                #expect(fits.isEmpty, "\(device)")
                continue
            }
            #expect(fits.contains { ($0.0, $0.1, $0.2) == (mode.code, mode.width, mode.height) })
            #expect(fits.map { $0.1 * $0.2 }.min() == mode.width * mode.height)
        }
    }
}

/// Numbers that are the same in each run.
private struct SplitGenerator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

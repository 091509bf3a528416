// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport
internal import MediaTypes

@testable internal import HelperIPC

/// Answers as real helpers give them, and random ones.
enum Seeds {
    static let width = 32
    static let height = 16
    static let identity = EncoderIdentity(name: "fuzz", codec: .h264)

    static var configuration: EncoderConfiguration {
        var configuration = EncoderConfiguration(width: width, height: height)
        configuration.bFrames = .off
        return configuration
    }

    private static let properties = EncoderProperties(
        name: "fuzz",
        profile: "none",
        level: "none",
        reorderDepth: 0,
        maximumDelay: 0,
        pixelFormats: [.nv12],
        supportedProperties: [.bFrames],
        formatDescription: FormatDescription(
            codec: .h264,
            width: width,
            height: height,
            parameterSets: [[0x67, 0x42, 0xC0, 0x1E, 0xD9], [0x68, 0xCE]]
        )
    )

    static func all() -> [[UInt8]] {
        let manners: [Manners] = [[], .awaitsGreeting, [.awaitsGreeting, .ownsPictures], .endsControlFirst, .isSilent]
        return manners.map { session($0) } + (0..<8).map { noise($0) } + [inspection()]
    }

    /// Three frames, a change, another frame and the end.
    private static func session(_ manners: Manners) -> [UInt8] {
        var output = FuzzOutput()
        output.byte(manners.rawValue)
        output.byte(6)
        output.append([0, 8, 0, 5, 0, 7])
        say(ControlNotice.hello(Greeting(build: "fuzz", limitations: ["none"])), .control, &output)
        say(EncoderHelperMessage.created(properties), .waits, &output)
        say(ControlNotice.log(LogLine(level: "warning", text: "so far so good")), .control, &output)
        say(ControlNotice.deviceClosed(DeviceNumber(9)), .control, &output)
        for number in [0, 1, 2] as [Int64] { frame(number, &output) }
        let adjustment = Adjustment(property: "size", requested: "33x17", used: "32x16", reason: "why not")
        say(EncoderHelperMessage.updated(.done(adjustments: [adjustment])), .waits, &output)
        frame(4, &output)
        say(EncoderHelperMessage.drained, .waits, &output)
        say(EncoderHelperMessage.failed(MediaError(.frameFailed, "at last")), [], &output)
        return output.bytes
    }

    /// A driver that says what it is.
    private static func inspection() -> [UInt8] {
        var output = FuzzOutput()
        output.append([Manners.inspects.rawValue, 0])
        say(ControlNotice.hello(Greeting(build: "fuzz")), .control, &output)
        say(EncoderHelperMessage.stage(.openingNode), .waits, &output)
        say(EncoderHelperMessage.stage(.loading(file: "/usr/lib/fuzz_drv_video.so")), [], &output)
        say(ControlNotice.log(LogLine(level: "info", text: "libva")), .control, &output)
        let profile = DriverReport.Profile(number: 6, entrypoints: [.init(number: 6), .init(number: 8)])
        let report = DriverReport(
            majorVersion: 1,
            minorVersion: 22,
            vendor: "Fuzz driver",
            file: "/usr/lib/fuzz_drv_video.so",
            profiles: [profile]
        )
        say(EncoderHelperMessage.report(report), [], &output)
        say(EncoderHelperMessage.stage(.askingAttributes(profile: 6, entrypoint: 8)), [], &output)
        let encoder = DriverReport.Encoder(
            profile: 6,
            entrypoint: 8,
            attributes: [.init(number: 5, value: 2)],
            surfaces: [.init(number: 1, flags: 3, value: 0x3231_564E)]
        )
        say(EncoderHelperMessage.encoder(encoder), [], &output)
        say(EncoderHelperMessage.stage(.closing), [], &output)
        say(EncoderHelperMessage.inspected, [], &output)
        return output.bytes
    }

    private static func frame(_ number: Int64, _ output: inout FuzzOutput) {
        let notice = CodedNotice(
            number: number,
            isKeyFrame: number == 0,
            isReference: true,
            isDropped: false,
            offset: Int(number) * 64,
            byteCount: 60,
            formatDescription: number == 2 ? properties.formatDescription : nil
        )
        say(EncoderHelperMessage.coded(notice), .waits, &output)
        if number == 1 { say(EncoderHelperMessage.roomWanted, .waits, &output) }
        // A picture is released by itself or with an answer.
        let isReleased = number.isMultiple(of: 2)
        if isReleased { say(EncoderHelperMessage.released(number: number), [], &output) }
        say(EncoderHelperMessage.accepted(number: number, released: isReleased ? [] : [number]), [], &output)
    }

    private static func say(_ message: some WireMessage, _ form: Form, _ output: inout FuzzOutput) {
        let bytes: [UInt8]
        do { bytes = try message.bytes(sequence: 0) } catch { fatalError("a seed cannot be written: \(error)") }
        output.byte(form.rawValue)
        output.byte(UInt8(truncatingIfNeeded: message.kind - (form.contains(.control) ? 193 : 65)))
        output.short(bytes.count - MessageHeader.byteCount)
        output.append(Array(bytes.dropFirst(MessageHeader.byteCount)))
    }

    /// Messages of both sockets and any direction as they are, behind an encoder that was created.
    private static func noise(_ seed: UInt64) -> [UInt8] {
        var output = FuzzOutput()
        output.append([0, 3, 0, 0, 7])
        say(EncoderHelperMessage.created(properties), .waits, &output)
        for (bytes, descriptorCount) in RandomMessages.all(seed: seed) {
            let isControl = bytes[6] >= 129
            output.byte(Form.raw.rawValue | (isControl ? Form.control.rawValue : 0) | (descriptorCount > 0 ? 8 : 0))
            if descriptorCount > 0 { output.byte(Attachments.smallMemory) }
            output.short(bytes.count)
            output.append(bytes)
        }
        return output.bytes
    }
}

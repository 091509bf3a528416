// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import BitstreamSyntax
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// A value that is parsed from the text of an option.
protocol ArgumentValue: Sendable {
    /// Parses the text; `nil` if it is invalid. The code that uses the value checks its range.
    init?(argument text: String)

    /// The allowed texts, for the "allowed" part of an error.
    static var allowedText: String { get }

    /// The completions for a shell: all allowed texts if they form a list, otherwise none.
    static var completions: [String] { get }
}

extension ArgumentValue {
    /// None.
    static var completions: [String] { [] }
}

/// The text of an option, which is parsed after the command line has been checked as a whole, so that every invalid
/// value is reported in the same way: with the option, the given value and the allowed values. Such options accept any
/// next word (`.unconditional`), so that `--crf -1` has an invalid value rather than a missing one.
struct ArgumentText<Value: ArgumentValue>: ExpressibleByArgument, Sendable {
    let text: String

    init(argument: String) { text = argument }

    static var defaultCompletionKind: CompletionKind {
        Value.completions.isEmpty ? .default : .list(Value.completions)
    }

    /// Returns the value.
    ///
    /// - Parameter option: The option's name, for the error.
    /// - Throws: `invalidArgument`.
    func value(of option: String) throws(MediaError) -> Value {
        guard let value = Value(argument: text) else {
            throw MediaError(.invalidArgument, "\(option) is not valid", given: text, allowed: Value.allowedText)
        }
        return value
    }
}

// MARK: - Names

extension ArgumentValue where Self: CaseIterable & RawRepresentable<String> {
    init?(argument text: String) { self.init(rawValue: text) }

    static var allowedText: String { completions.joined(separator: ", ") }

    static var completions: [String] { allCases.map(\.rawValue) }
}

extension CodecSelection: ArgumentValue {}
extension DecoderChoice: ArgumentValue {}
extension EncoderIsolation: ArgumentValue {}
extension EntropyMode: ArgumentValue {}
extension HardwareEncoderOptions.LowPower: ArgumentValue {}
extension MediaSource.Deinterlacing: ArgumentValue {}
extension ScalingMode: ArgumentValue {}
extension SoftwareEncoderOptions.Preset: ArgumentValue {}
extension SoftwareEncoderOptions.Tuning: ArgumentValue {}
extension SoftwareEncoderOptions.InstructionSet: ArgumentValue {}
extension VideoProfile: ArgumentValue {
    /// Names that both codecs share are H.264's first, such as `main`, until the codec is known to be HEVC.
    init?(argument text: String) {
        guard let profile = Self(rawValue: text) ?? Self(rawValue: "hevc-\(text)") else { return nil }
        self = profile
    }

    static var completions: [String] {
        let hevc = allCases.filter { $0.codec == .hevc && $0 != .hevcMain }
        return allCases.filter { $0.codec == .h264 }.map(\.rawValue)
            + hevc.map { String($0.rawValue.trimmingPrefix("hevc-")) }
    }
}

/// The bit depth to encode with.
enum BitDepthChoice: ArgumentValue, Hashable {
    case bits(Int)
    case source

    init?(argument text: String) {
        if text == "source" {
            self = .source
        } else if let bits = DecimalNumber(text)?.wholeValue {
            self = .bits(bits)
        } else {
            return nil
        }
    }

    static let completions = EncoderConfiguration.bitDepths(.hevc).map(String.init) + ["source"]
    static var allowedText: String { completions.joined(separator: ", ") }
}

/// The chroma format to encode with.
enum ChromaChoice: ArgumentValue, Hashable {
    case format(ChromaFormat)
    case source

    init?(argument text: String) {
        if text == "source" {
            self = .source
        } else if let format = EncoderConfiguration.chromaFormats(.hevc).first(where: { $0.name == text }) {
            self = .format(format)
        } else {
            return nil
        }
    }

    static let completions = EncoderConfiguration.chromaFormats(.hevc).map(\.name) + ["source"]
    static var allowedText: String { completions.joined(separator: ", ") }
}

/// A level by name, of either codec.
struct StreamLevel: ArgumentValue {
    let h264: H264Level?
    let hevc: HEVCLevel?

    init?(argument text: String) {
        (h264, hevc) = (H264Level(name: text), HEVCLevel(name: text))
        if h264 == nil, hevc == nil { return nil }
    }

    static var h264Names: String { H264Level.all.map(\.name).joined(separator: ", ") }
    static var hevcNames: String { HEVCLevel.all.map(\.name).joined(separator: ", ") }
    static var allowedText: String { "\(h264Names); for HEVC \(hevcNames)" }
    static var completions: [String] { Set(H264Level.all.map(\.name) + HEVCLevel.all.map(\.name)).sorted() }
}

// MARK: - Numbers

/// A whole number, zero or above.
struct WholeNumber: ArgumentValue {
    let value: Int

    init?(argument text: String) {
        guard let number = DecimalNumber(text), let value = number.wholeValue else { return nil }
        self.value = value
    }

    static let allowedText = "a whole number, such as 4"
}

/// A number with an optional sign.
struct SignedNumber: ArgumentValue {
    let value: Double

    init?(argument text: String) {
        let isNegative = text.hasPrefix("-")
        guard let number = DecimalNumber(isNegative || text.hasPrefix("+") ? text.dropFirst() : text[...]) else {
            return nil
        }
        value = isNegative ? -number.doubleValue : number.doubleValue
    }

    static let allowedText = "a number, such as -3 or 2.5"
}

/// A number, zero or above.
struct PlainNumber: ArgumentValue {
    let value: Double

    init?(argument text: String) {
        guard let number = DecimalNumber(text) else { return nil }
        value = number.doubleValue
    }

    static let allowedText = "a number, such as 23 or 22.5"
}

extension ArgumentText<PlainNumber> {
    /// Returns the value of `--timeout`.
    ///
    /// - Throws: `invalidArgument`.
    func patience() throws(MediaError) -> Duration {
        let seconds = try value(of: "--timeout").value
        guard (0.1...3600).contains(seconds) else {
            throw MediaError(
                .invalidArgument,
                "--timeout is out of range",
                given: text,
                allowed: "0.1 to 3600 seconds"
            )
        }
        return .seconds(seconds)
    }
}

/// A rate in bits per second.
struct BitRate: ArgumentValue {
    let bitsPerSecond: Int

    init?(argument text: String) {
        guard let number = DecimalNumber.multiple(text) else { return nil }
        bitsPerSecond = number
    }

    static let allowedText = "bits per second, such as 800k, 2.5M or 5000000"
}

/// A number of bytes.
struct ByteCount: ArgumentValue {
    let bytes: Int

    init?(argument text: String) {
        guard let number = DecimalNumber.multiple(text) else { return nil }
        bytes = number
    }

    static let allowedText = "bytes, such as 200k, 1.5M or 65536"
}

/// Width and height.
struct PictureSize: ArgumentValue {
    let width: Int
    let height: Int

    init?(argument text: String) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = DecimalNumber(parts[0])?.wholeValue,
            let height = DecimalNumber(parts[1])?.wholeValue
        else { return nil }
        self.width = width
        self.height = height
    }

    static let allowedText = "WIDTHxHEIGHT, such as 1280x720"
}

/// Width and height, of which one can be left out.
enum OutputSize: ArgumentValue, Equatable {
    case both(width: Int, height: Int)
    /// The height keeps the shape of the pictures.
    case width(Int)
    /// The width keeps the shape of the pictures.
    case height(Int)

    init?(argument text: String) {
        if let size = PictureSize(argument: text) {
            self = .both(width: size.width, height: size.height)
        } else if text.hasPrefix("x"), let height = DecimalNumber(text.dropFirst())?.wholeValue {
            self = .height(height)
        } else if text.hasSuffix("x"), let width = DecimalNumber(text.dropLast())?.wholeValue {
            self = .width(width)
        } else {
            return nil
        }
    }

    static let allowedText = "WIDTHxHEIGHT, WIDTHx or xHEIGHT, such as 1280x720, 1280x or x720"
}

extension RegionOfInterest: ArgumentValue {
    init?(argument text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 5, let last = parts.last else { return nil }
        let sign = last.hasPrefix("-") ? -1 : 1
        let lengths = parts.dropLast().compactMap { DecimalNumber($0)?.wholeValue }
        guard lengths.count == 4,
            let offset = DecimalNumber(last.hasPrefix("-") || last.hasPrefix("+") ? last.dropFirst() : last)?.wholeValue
        else { return nil }
        self.init(x: lengths[0], y: lengths[1], width: lengths[2], height: lengths[3], quantizerOffset: sign * offset)
    }

    static let allowedText = "X,Y,WIDTH,HEIGHT,OFFSET, such as 640,360,320,180,-6"
}

extension Rational: ArgumentValue {
    init?(argument text: String) { self.init(text: text) }

    static let allowedText = "frames per second, such as 25, 12.5 or 30000/1001"
}

// MARK: - Times

/// A time: seconds, or hours, minutes and seconds.
struct ClockTime: ArgumentValue {
    let time: MediaTime

    init?(argument text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), let last = parts.last, let seconds = DecimalNumber(last) else {
            return nil
        }
        if parts.count > 1, seconds.doubleValue >= 60 { return nil }
        var whole: Int64 = 0
        for (index, part) in parts.dropLast().enumerated() {
            guard let number = DecimalNumber(part)?.wholeValue, number < 1_000_000 else { return nil }
            if index > 0, number >= 60 { return nil }
            whole = whole * 60 + Int64(number)
        }
        time = MediaTime(value: whole * 60, timescale: 1) + seconds.time
    }

    static let allowedText = "seconds or [HH:]MM:SS[.fff], such as 90, 1.5 or 01:30"
}

extension KeyFrameInterval: ArgumentValue {
    init?(argument text: String) {
        if text.last == "s" {
            guard let seconds = DecimalNumber(text.dropLast()) else { return nil }
            self.init(duration: seconds.time)
        } else {
            guard let frames = DecimalNumber(text)?.wholeValue else { return nil }
            self.init(frames: frames)
        }
    }

    static let allowedText = "frames or seconds, such as 150 or 5s"
}

// MARK: - Choices

extension BFrames: ArgumentValue {
    init?(argument text: String) {
        switch text {
        case "auto": self = .automatic
        case "off", "0": self = .off
        default:
            guard let count = DecimalNumber(text)?.wholeValue else { return nil }
            self = .maximum(count)
        }
    }

    static let allowedText = "auto, off, or 1 to 16"
}

/// The devices to encode or decode on.
enum DeviceChoice: ArgumentValue, Hashable {
    case automatic
    case software
    case renderNode(String)

    init?(argument text: String) {
        switch text {
        case "auto": self = .automatic
        case "software": self = .software
        default:
            guard text.hasPrefix("/") || Self.isPCIAddress(text) else { return nil }
            self = .renderNode(text)
        }
    }

    /// Returns whether a text is a PCI address as in sysfs: domain, bus, device and function.
    private static func isPCIAddress(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/) != nil
    }

    static let allowedText =
        "auto, software, a render node such as /dev/dri/renderD128, or its PCI address such as 0000:03:00.0"
}

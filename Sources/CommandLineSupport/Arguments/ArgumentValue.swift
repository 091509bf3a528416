// SPDX-License-Identifier: GPL-2.0-or-later

package import ArgumentParser
package import BitstreamSyntax
package import MediaTypes
package import VAToolbox

/// A value that is parsed from the text of an option.
package protocol ArgumentValue: Sendable {
    /// Parses the text; `nil` if it is invalid. The code that uses the value checks its range.
    init?(argument text: String)

    /// The allowed texts, for the "allowed" part of an error.
    static var allowedText: String { get }

    /// The completions for a shell: all allowed texts if they form a list, otherwise none.
    static var completions: [String] { get }
}

extension ArgumentValue {
    /// None.
    package static var completions: [String] { [] }
}

/// The text of an option, which is parsed after the command line has been checked as a whole, so that every invalid
/// value is reported in the same way: with the option, the given value and the allowed values. Such options accept any
/// next word (`.unconditional`), so that `--crf -1` has an invalid value rather than a missing one.
package struct ArgumentText<Value: ArgumentValue>: ExpressibleByArgument, Sendable {
    package let text: String

    package init(argument: String) { text = argument }

    package static var defaultCompletionKind: CompletionKind {
        Value.completions.isEmpty ? .default : .list(Value.completions)
    }

    /// Returns the value.
    ///
    /// - Parameter option: The option's name, for the error.
    /// - Throws: `invalidArgument`.
    package func value(of option: String) throws(MediaError) -> Value {
        guard let value = Value(argument: text) else {
            throw MediaError(.invalidArgument, "\(option) is not valid", given: text, allowed: Value.allowedText)
        }
        return value
    }
}

// MARK: - Names

extension ArgumentValue where Self: CaseIterable & RawRepresentable<String> {
    package init?(argument text: String) { self.init(rawValue: text) }

    package static var allowedText: String { completions.joined(separator: ", ") }

    package static var completions: [String] { allCases.map(\.rawValue) }
}

extension CodecSelection: ArgumentValue {}
extension EncoderIsolation: ArgumentValue {}
extension EntropyMode: ArgumentValue {}
extension HardwareEncoderOptions.LowPower: ArgumentValue {}
extension ScalingMode: ArgumentValue {}
extension SoftwareEncoderOptions.Preset: ArgumentValue {}
extension SoftwareEncoderOptions.Tuning: ArgumentValue {}
extension SoftwareEncoderOptions.InstructionSet: ArgumentValue {}
extension VideoProfile: ArgumentValue {
    /// Names that both codecs share are H.264's first, such as `main`, until the codec is known to be HEVC.
    package init?(argument text: String) {
        guard let profile = Self(rawValue: text) ?? Self(rawValue: "hevc-\(text)") else { return nil }
        self = profile
    }

    package static var completions: [String] {
        let hevc = allCases.filter { $0.codec == .hevc && $0 != .hevcMain }
        return allCases.filter { $0.codec == .h264 }.map(\.rawValue)
            + hevc.map { String($0.rawValue.trimmingPrefix("hevc-")) }
    }
}

/// The bit depth to encode with.
package enum BitDepthChoice: ArgumentValue, Hashable {
    case bits(Int)
    case source

    package init?(argument text: String) {
        if text == "source" {
            self = .source
        } else if let bits = DecimalNumber(text)?.wholeValue {
            self = .bits(bits)
        } else {
            return nil
        }
    }

    package static let completions = EncoderConfiguration.bitDepths(.hevc).map(String.init) + ["source"]
    package static var allowedText: String { completions.joined(separator: ", ") }
}

/// The chroma format to encode with.
package enum ChromaChoice: ArgumentValue, Hashable {
    case format(ChromaFormat)
    case source

    package init?(argument text: String) {
        if text == "source" {
            self = .source
        } else if let format = EncoderConfiguration.chromaFormats(.hevc).first(where: { $0.name == text }) {
            self = .format(format)
        } else {
            return nil
        }
    }

    package static let completions = EncoderConfiguration.chromaFormats(.hevc).map(\.name) + ["source"]
    package static var allowedText: String { completions.joined(separator: ", ") }
}

/// A level by name, of either codec.
package struct StreamLevel: ArgumentValue {
    package let h264: H264Level?
    package let hevc: HEVCLevel?

    package init?(argument text: String) {
        (h264, hevc) = (H264Level(name: text), HEVCLevel(name: text))
        if h264 == nil, hevc == nil { return nil }
    }

    package static var h264Names: String { H264Level.all.map(\.name).joined(separator: ", ") }
    package static var hevcNames: String { HEVCLevel.all.map(\.name).joined(separator: ", ") }
    package static var allowedText: String { "\(h264Names); for HEVC \(hevcNames)" }
    package static var completions: [String] { Set(H264Level.all.map(\.name) + HEVCLevel.all.map(\.name)).sorted() }
}

// MARK: - Numbers

/// A whole number, zero or above.
package struct WholeNumber: ArgumentValue {
    package let value: Int

    package init?(argument text: String) {
        guard let number = DecimalNumber(text), let value = number.wholeValue else { return nil }
        self.value = value
    }

    package static let allowedText = "a whole number, such as 4"
}

/// A number with an optional sign.
package struct SignedNumber: ArgumentValue {
    package let value: Double

    package init?(argument text: String) {
        let isNegative = text.hasPrefix("-")
        guard let number = DecimalNumber(isNegative || text.hasPrefix("+") ? text.dropFirst() : text[...]) else {
            return nil
        }
        value = isNegative ? -number.doubleValue : number.doubleValue
    }

    package static let allowedText = "a number, such as -3 or 2.5"
}

/// A number, zero or above.
package struct PlainNumber: ArgumentValue {
    package let value: Double

    package init?(argument text: String) {
        guard let number = DecimalNumber(text) else { return nil }
        value = number.doubleValue
    }

    package static let allowedText = "a number, such as 23 or 22.5"
}

extension ArgumentText<WholeNumber> {
    /// Returns the value, which must be in the allowed range.
    ///
    /// - Throws: `invalidArgument`.
    package func value(of option: String, in allowed: ClosedRange<Int>) throws(MediaError) -> Int {
        let value = try value(of: option).value
        if allowed.contains(value) { return value }
        throw MediaError(
            .invalidArgument,
            "\(option) is out of range",
            given: text,
            allowed: "\(allowed.lowerBound) to \(allowed.upperBound)"
        )
    }
}

extension ArgumentText<PlainNumber> {
    /// Returns the value of `--timeout`.
    ///
    /// - Throws: `invalidArgument`.
    package func patience() throws(MediaError) -> Duration {
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
package struct BitRate: ArgumentValue {
    package let bitsPerSecond: Int

    package init?(argument text: String) {
        guard let number = DecimalNumber.multiple(text) else { return nil }
        bitsPerSecond = number
    }

    package static let allowedText = "bits per second, such as 800k, 2.5M or 5000000"
}

/// A number of bytes.
package struct ByteCount: ArgumentValue {
    package let bytes: Int

    package init?(argument text: String) {
        guard let number = DecimalNumber.multiple(text) else { return nil }
        bytes = number
    }

    package static let allowedText = "bytes, such as 200k, 1.5M or 65536"
}

/// Width and height.
package struct PictureSize: ArgumentValue {
    package let width: Int
    package let height: Int

    package init?(argument text: String) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = DecimalNumber(parts[0])?.wholeValue,
            let height = DecimalNumber(parts[1])?.wholeValue
        else { return nil }
        self.width = width
        self.height = height
    }

    package static let allowedText = "WIDTHxHEIGHT, such as 1280x720"
}

/// Width and height, of which one can be left out.
package enum OutputSize: ArgumentValue, Equatable {
    case both(width: Int, height: Int)
    /// The height keeps the shape of the pictures.
    case width(Int)
    /// The width keeps the shape of the pictures.
    case height(Int)

    package init?(argument text: String) {
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

    package static let allowedText = "WIDTHxHEIGHT, WIDTHx or xHEIGHT, such as 1280x720, 1280x or x720"
}

extension RegionOfInterest: ArgumentValue {
    package init?(argument text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 5, let last = parts.last else { return nil }
        let sign = last.hasPrefix("-") ? -1 : 1
        let lengths = parts.dropLast().compactMap { DecimalNumber($0)?.wholeValue }
        guard lengths.count == 4,
            let offset = DecimalNumber(last.hasPrefix("-") || last.hasPrefix("+") ? last.dropFirst() : last)?.wholeValue
        else { return nil }
        self.init(x: lengths[0], y: lengths[1], width: lengths[2], height: lengths[3], quantizerOffset: sign * offset)
    }

    package static let allowedText = "X,Y,WIDTH,HEIGHT,OFFSET, such as 640,360,320,180,-6"
}

extension Rational: ArgumentValue {
    package init?(argument text: String) { self.init(text: text) }

    package static let allowedText = "frames per second, such as 25, 12.5 or 30000/1001"
}

// MARK: - Times

/// A time: seconds, or hours, minutes and seconds.
package struct ClockTime: ArgumentValue {
    package let time: MediaTime

    package init?(argument text: String) {
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

    package static let allowedText = "seconds or [HH:]MM:SS[.fff], such as 90, 1.5 or 01:30"
}

extension KeyFrameInterval: ArgumentValue {
    package init?(argument text: String) {
        if text.last == "s" {
            guard let seconds = DecimalNumber(text.dropLast()) else { return nil }
            self.init(duration: seconds.time)
        } else {
            guard let frames = DecimalNumber(text)?.wholeValue else { return nil }
            self.init(frames: frames)
        }
    }

    package static let allowedText = "frames or seconds, such as 150 or 5s"
}

// MARK: - Choices

extension BFrames: ArgumentValue {
    package init?(argument text: String) {
        switch text {
        case "auto": self = .automatic
        case "off", "0": self = .off
        default:
            guard let count = DecimalNumber(text)?.wholeValue else { return nil }
            self = .maximum(count)
        }
    }

    package static let allowedText = "auto, off, or 1 to 16"
}

/// The devices to encode or decode on.
package enum DeviceChoice: ArgumentValue, Hashable {
    case automatic
    case software
    case renderNode(String)

    package init?(argument text: String) {
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

    package static let allowedText =
        "auto, software, a render node such as /dev/dri/renderD128, or its PCI address such as 0000:03:00.0"
}

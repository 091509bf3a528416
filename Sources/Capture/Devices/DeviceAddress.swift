// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A device as people name it: `KIND[:NAME][,OPTION=VALUE]...`, for example `x11::0,region=640x480+10+20`,
/// `v4l2:/dev/video0,size=1280x720,rate=30`, `pulse:default`, or `test`.
///
/// A comma in a name or a value is written as `\,`.
public struct DeviceAddress: Sendable, Hashable {
    /// The kind of device, such as `x11`.
    public var kind: String
    /// The name; empty for the default device of its kind.
    public var name: String
    /// The options in their order.
    public var options: [Option]

    /// An option of a device.
    public struct Option: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value; empty if there is none.
        public var value: String
    }

    /// Parses an address.
    ///
    /// - Throws: `invalidArgument` if it is empty or an option has no name.
    public init(_ text: String) throws(MediaError) {
        var parts = [""]
        var isEscaped = false
        for character in text {
            if isEscaped {
                parts[parts.count - 1] += character == "," ? "," : "\\" + String(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "," {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        if isEscaped { parts[parts.count - 1].append("\\") }
        let head = parts.removeFirst()
        let colon = head.firstIndex(of: ":")
        kind = String(head[..<(colon ?? head.endIndex)])
        name = colon.map { String(head[head.index(after: $0)...]) } ?? ""
        options = parts.map { part in
            let equals = part.firstIndex(of: "=")
            return Option(
                name: String(part[..<(equals ?? part.endIndex)]),
                value: equals.map { String(part[part.index(after: $0)...]) } ?? ""
            )
        }
        guard !kind.isEmpty, options.allSatisfy({ !$0.name.isEmpty }) else {
            throw MediaError(
                .invalidArgument,
                "a device is not valid",
                given: text,
                allowed: "KIND[:NAME][,OPTION=VALUE]..., such as x11::0,cursor=off"
            )
        }
    }

    /// Returns the values of options by their names.
    ///
    /// - Parameter allowed: The names of the options that this kind of device has.
    /// - Throws: `invalidArgument` for another name, or a name that occurs twice.
    package func options(_ allowed: [String]) throws(MediaError) -> [String: String] {
        var values: [String: String] = [:]
        for option in options {
            guard allowed.contains(option.name), values[option.name] == nil else {
                throw MediaError(
                    .invalidArgument,
                    values[option.name] == nil
                        ? "a device of the kind \(kind) has no such option" : "an option of a device occurs twice",
                    given: option.name,
                    allowed: allowed.isEmpty ? "no options" : allowed.joined(separator: ", ")
                )
            }
            values[option.name] = option.value
        }
        return values
    }
}

extension MediaError {
    /// The error about an option of a device that is not valid.
    package static func option(_ name: String, _ value: String, allowed: String) -> MediaError {
        MediaError(.invalidArgument, "the option \(name) of a device is not valid", given: value, allowed: allowed)
    }
}

/// Values of options as people write them.
package enum OptionValue {
    /// A size such as `1280x720`.
    package static func size(_ text: String, option: String) throws(MediaError) -> (width: Int, height: Int) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        let allowed = 1...PixelBuffer.maximumDimension
        guard parts.count == 2, let width = parts[0], let height = parts[1], allowed.contains(width),
            allowed.contains(height)
        else { throw .option(option, text, allowed: "WIDTHxHEIGHT, such as 1280x720") }
        return (width, height)
    }

    /// A frame rate such as `30`, `29.97` or `30000/1001`, from 1 to 240.
    package static func rate(_ text: String, option: String) throws(MediaError) -> Rational {
        guard let rate = parseRate(text), (1.0...240.0).contains(Double(rate.numerator) / Double(rate.denominator))
        else { throw .option(option, text, allowed: "1 to 240, such as 30 or 30000/1001") }
        return rate
    }

    private static func parseRate(_ text: String) -> Rational? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2 {
            guard let numerator = Int32(parts[0]), let denominator = Int32(parts[1]), numerator > 0, denominator > 0
            else { return nil }
            return Rational(numerator, denominator)
        }
        guard let value = Double(text), value > 0, value <= 1000 else { return nil }
        if let whole = Int32(exactly: value) { return Rational(whole) }
        // Rates of NTSC are written with two or three decimals.
        let nominal = value.rounded()
        if abs(value - nominal / 1.001) < 0.006, let whole = Int32(exactly: nominal) {
            return Rational(whole * 1000, 1001)
        }
        return Rational(Int32(value * 1000), 1000)
    }

    /// A number within a range.
    package static func number(
        _ text: String,
        _ allowed: ClosedRange<Double>,
        option: String
    ) throws(MediaError) -> Double {
        guard let value = Double(text), allowed.contains(value) else {
            throw .option(option, text, allowed: "\(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return value
    }

    /// `on` or `off`.
    package static func flag(_ text: String, option: String) throws(MediaError) -> Bool {
        switch text {
        case "on", "yes", "true", "1", "": return true
        case "off", "no", "false", "0": return false
        default: throw .option(option, text, allowed: "on, off")
        }
    }
}

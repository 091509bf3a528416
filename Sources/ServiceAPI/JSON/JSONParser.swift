// SPDX-License-Identifier: GPL-2.0-or-later

extension JSONValue {
    /// The deepest nesting of arrays and objects that is read.
    package static let deepestNesting = 64

    /// Reads a text of JSON (RFC 8259) in UTF-8, strictly, in time in proportion to its length.
    ///
    /// Also refuses a byte order mark, a key that occurs twice in an object, U+0000, lone surrogates and more than
    /// ``mostCombining`` combining characters in a row in strings, integers of more than 64 bits, other numbers beyond
    /// the range of a `Double`, and more than ``deepestNesting`` levels.
    ///
    /// - Throws: `invalid-json`, with the place.
    package init(parsing bytes: [UInt8]) throws(APIError) {
        var parser = JSONParser(bytes: bytes)
        self = try parser.document()
    }

    /// Reads a text of JSON.
    package init(parsing text: String) throws(APIError) {
        try self.init(parsing: Array(text.utf8))
    }
}

/// Reads JSON from bytes.
struct JSONParser {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws(APIError) -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw failure("It begins with a byte order mark", remedy: "Send UTF-8 without a byte order mark.")
        }
        skipSpace()
        if position == bytes.count { throw failure("It is empty", allowed: "a value of JSON") }
        let value = try value()
        skipSpace()
        if position < bytes.count {
            throw failure("Something follows the end of the value", allowed: "one value of JSON")
        }
        return value
    }

    private mutating func value() throws(APIError) -> JSONValue {
        guard let byte = next else { throw unexpected("a value") }
        switch byte {
        case UInt8(ascii: "{"): return try nested { parser throws(APIError) in try parser.object() }
        case UInt8(ascii: "["): return try nested { parser throws(APIError) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw unexpected("a value")
        }
    }

    private mutating func nested(
        _ read: (inout JSONParser) throws(APIError) -> JSONValue
    ) throws(APIError) -> JSONValue {
        guard depth < JSONValue.deepestNesting else {
            throw failure("Arrays and objects are nested too deeply", allowed: "\(JSONValue.deepestNesting) levels")
        }
        depth += 1
        position += 1
        skipSpace()
        let value = try read(&self)
        depth -= 1
        return value
    }

    private mutating func object() throws(APIError) -> JSONValue {
        var members: [JSONObject.Member] = []
        var keys: Set<String> = []
        if skip(UInt8(ascii: "}")) { return .object(JSONObject()) }
        while true {
            guard next == UInt8(ascii: "\"") else { throw unexpected("a key in quotation marks") }
            let start = position
            let key = try string()
            guard keys.insert(key).inserted else {
                position = start
                throw failure("The key \(JSONValue.string(key).excerpt.text) occurs twice in an object")
            }
            skipSpace()
            guard skip(UInt8(ascii: ":")) else { throw unexpected("a colon") }
            skipSpace()
            members.append(JSONObject.Member(key, try value()))
            skipSpace()
            if skip(UInt8(ascii: "}")) { return .object(JSONObject(members: members)) }
            guard skip(UInt8(ascii: ",")) else { throw unexpected("a comma or the end of the object") }
            skipSpace()
        }
    }

    private mutating func array() throws(APIError) -> JSONValue {
        var elements: [JSONValue] = []
        if skip(UInt8(ascii: "]")) { return .array([]) }
        while true {
            elements.append(try value())
            skipSpace()
            if skip(UInt8(ascii: "]")) { return .array(elements) }
            guard skip(UInt8(ascii: ",")) else { throw unexpected("a comma or the end of the array") }
            skipSpace()
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(APIError) -> JSONValue {
        let length = text.utf8CodeUnitCount
        let isEqual = text.withUTF8Buffer { bytes[position...].prefix(length).elementsEqual($0) }
        guard isEqual else { throw unexpected("a value") }
        position += length
        return value
    }

    // MARK: Numbers

    // RFC 8259 section 6
    private mutating func number() throws(APIError) -> JSONValue {
        let start = position
        skip(UInt8(ascii: "-"))
        let leadsWithZero = next == UInt8(ascii: "0")
        let digits = skipDigits()
        guard digits > 0 else { throw unexpected("a digit") }
        guard digits == 1 || !leadsWithZero else {
            position = start
            throw failure("A number begins with a superfluous zero")
        }
        var isInteger = true
        if skip(UInt8(ascii: ".")) {
            isInteger = false
            guard skipDigits() > 0 else { throw unexpected("a digit") }
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            isInteger = false
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            guard skipDigits() > 0 else { throw unexpected("a digit") }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger {
            if let integer = Int64(text) { return .integer(integer) }
            position = start
            throw failure("A number is too large", allowed: "\(Int64.min)...\(Int64.max) for integers")
        }
        guard let number = Double(text), number.isFinite else {
            position = start
            throw failure("A number is too large", allowed: "at most 1.7976931348623157e308")
        }
        return .number(number)
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position - start
    }

    // MARK: Strings

    // RFC 8259 section 7
    private mutating func string() throws(APIError) -> String {
        position += 1
        var content: [UInt8] = []
        var runStart = position
        let start = position
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                content.append(contentsOf: bytes[runStart..<position])
                guard let text = String(validating: content, as: UTF8.self) else {
                    position = start
                    throw failure("A string is not valid UTF-8")
                }
                guard text.isStreamSafe else {
                    position = start
                    throw failure(
                        "A string has too many combining characters in a row",
                        allowed: "\(JSONValue.mostCombining)"
                    )
                }
                position += 1
                return text
            case UInt8(ascii: "\\"):
                content.append(contentsOf: bytes[runStart..<position])
                content.append(contentsOf: String(try escape()).utf8)
                runStart = position
            case 0..<0x20:
                throw failure("A string contains a control character", allowed: "an escape such as \\n")
            default: position += 1
            }
        }
        throw failure("A string has no end")
    }

    private mutating func escape() throws(APIError) -> Character {
        let start = position
        position += 1
        guard let byte = next else { throw failure("A string has no end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return Character(try unicodeEscape(at: start))
        default:
            position = start
            throw failure("A string contains an unknown escape", allowed: #"\" \\ \/ \b \f \n \r \t \uXXXX"#)
        }
    }

    /// Reads the digits of `\uXXXX`, and a second escape if the first is the first half of a surrogate pair.
    private mutating func unicodeEscape(at start: Int) throws(APIError) -> Unicode.Scalar {
        let first = try hexadecimalDigits()
        if let scalar = Unicode.Scalar(first) {
            guard first != 0 else {
                position = start
                throw failure("A string contains U+0000")
            }
            return scalar
        }
        if first < 0xDC00, skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) {
            let second = try hexadecimalDigits()
            if (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (UInt32(first - 0xD800) << 10) + UInt32(second - 0xDC00))
            {
                return scalar
            }
        }
        position = start
        throw failure("A string contains half of a surrogate pair", allowed: "a pair such as \\ud83d\\ude00")
    }

    private mutating func hexadecimalDigits() throws(APIError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw unexpected("four hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }

    // MARK: Places

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private func unexpected(_ allowed: String) -> APIError {
        guard let next else { return failure("The text ends too early", allowed: allowed) }
        let isPrintable = (0x21...0x7E).contains(next)
        let given = isPrintable ? "`\(Character(Unicode.Scalar(next)))`" : "byte 0x\(String(next, radix: 16))"
        return failure("Unexpected \(given)", allowed: allowed)
    }

    /// An error at the present position.
    private func failure(_ what: String, allowed: String? = nil, remedy: String? = nil) -> APIError {
        let before = bytes[..<position]
        let line = before.count { $0 == 0x0A } + 1
        let column = position - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        return APIError(
            .invalidJSON,
            "\(what), in line \(line) at byte \(column)",
            allowed: allowed,
            remedies: remedy.map { [$0] } ?? []
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@Suite("JSON text")
struct JSONParserTests {
    @Test(
        "Valid texts",
        arguments: [
            ("null", .null), (" true ", true), ("\t\r\nfalse", false), ("[]", []), ("{}", [:]), ("[ ]", []),
            ("{ }", [:]),
            ("0", 0), ("-0", 0), ("-1", -1), ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)), ("9007199254740993", 9_007_199_254_740_993),
            ("1.5", .number(1.5)), ("1e2", .number(100)), ("1E+2", .number(100)), ("25e-1", .number(2.5)),
            ("-0.0", .number(-0.0)), ("0e0", .number(0)), ("1e-400", .number(0)),
            ("1.7976931348623157e308", .number(.greatestFiniteMagnitude)), ("5e-324", .number(.leastNonzeroMagnitude)),
            (#""""#, ""), (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{C}\n\r\tz"), (#""\u00e9é""#, "éé"),
            (#""\ud83d\ude00😀""#, "😀😀"), (#""\uD83D\uDE00""#, "😀"), (#""\ufb03""#, "ﬃ"),
            ("\"\u{7F}\u{2028}\"", "\u{7F}\u{2028}"), (#"[1,[2,{"a":[]}],""]"#, [1, [2, ["a": []]], ""]),
            (#"{"b":1,"a":{"":null}}"#, ["b": 1, "a": ["": nil]]),
        ] as [(String, JSONValue)]
    )
    func acceptsValidTexts(text: String, expected: JSONValue) throws {
        let value = try JSONValue(parsing: text)
        #expect(value == expected)
        #expect(try JSONValue(parsing: value.bytes) == value)
        #expect(try JSONValue(parsing: value.indentedBytes) == value)
    }

    @Test(
        "Invalid texts",
        arguments: [
            ("", "empty"), ("  ", "empty"), ("{", "too early"), ("[", "too early"), ("[1", "too early"),
            ("[1,", "too early"), ("[1,]", "`]`"), ("[,1]", "`,`"), ("[1 2]", "`2`"), ("[1]]", "follows"),
            ("1 2", "follows"),
            ("{}x", "follows"), (#"{"a"}"#, "`}`"), (#"{"a":}"#, "`}`"), (#"{"a":1,}"#, "`}`"), ("{a:1}", "`a`"),
            (#"{"a" 1}"#, "`1`"), (#"{"a":1 "b":2}"#, "`\"`"), ("{1:2}", "`1`"), ("'a'", "`'`"), ("nul", "`n`"),
            ("nulL", "`n`"), ("True", "`T`"), ("NaN", "`N`"), ("Infinity", "`I`"), ("-Infinity", "`I`"), ("+1", "`+`"),
            (".5", "`.`"), ("1.", "too early"), ("1.e5", "`e`"), ("1e", "too early"), ("1e+", "too early"),
            ("-", "too early"),
            ("- 1", "byte 0x20"), ("01", "zero"), ("-01", "zero"), ("0x10", "follows"), ("1_000", "follows"),
            ("9223372036854775808", "too large"), ("-9223372036854775809", "too large"), ("1e400", "too large"),
            ("-1e400", "too large"), ("1\(String(repeating: "0", count: 4000))", "too large"), ("\"a", "no end"),
            (#""\"#, "no end"), (#""\""#, "no end"), (#""\x41""#, "escape"), (#""\u12""#, "hexadecimal"),
            (#""\u12G4""#, "hexadecimal"), (#""\u0000""#, "U+0000"), ("\"a\u{0}\"", "control character"),
            ("\"\n\"", "control character"), ("\"\t\"", "control character"), (#""\ud800""#, "surrogate"),
            (#""\udc00""#, "surrogate"), (#""\ud800\ud800""#, "surrogate"), (#""\ud800\u0041""#, "surrogate"),
            (#""\ud800x""#, "surrogate"), (#"{"a":1,"b":2,"a":3}"#, "occurs twice"),
            (#"{"a":1,"\u0061":2}"#, "occurs twice"), ("{\"é\":1,\"e\u{301}\":2}", "occurs twice"),
            ("\u{FEFF}{}", "byte order mark"), ("// comment\n1", "`/`"), ("[1]\u{0}", "follows"),
            ("\u{A0}1", "byte 0xc2"),
        ]
    )
    func refusesInvalidTexts(text: String, reason: String) throws {
        let error = try #require(throws: APIError.self) { try JSONValue(parsing: text) }
        #expect(error.code == .invalidJSON)
        #expect(error.description.contains(reason), "\(error)")
    }

    @Test(
        "Invalid UTF-8",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xC3], [0xE2, 0x82], [0xFF], [0xFE],
        ] as [[UInt8]]
    )
    func refusesInvalidUTF8(bytes: [UInt8]) throws {
        for body in [[0x22] + bytes + [0x22], [0x7B, 0x22] + bytes + [0x22, 0x3A, 0x31, 0x7D]] {
            let error = try #require(throws: APIError.self) { try JSONValue(parsing: body) }
            #expect(error.code == .invalidJSON)
            #expect(error.detail.contains("UTF-8"), "\(error.detail)")
        }
        let error = try #require(throws: APIError.self) { try JSONValue(parsing: bytes) }
        #expect(error.code == .invalidJSON)
    }

    @Test("UTF-16 and UTF-32 are refused")
    func refusesOtherEncodings() throws {
        for body in [[0xFF, 0xFE, 0x7B, 0, 0x7D, 0], [0, 0x7B, 0, 0x7D], [0x7B, 0, 0, 0, 0x7D, 0, 0, 0]] as [[UInt8]] {
            let error = try #require(throws: APIError.self) { try JSONValue(parsing: body) }
            #expect(error.code == .invalidJSON)
        }
    }

    @Test("64 levels are read, and no more")
    func limitsNesting() throws {
        let limit = JSONValue.deepestNesting
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":["#, count: depth / 2) + String(repeating: "[", count: depth % 2)
                + String(repeating: "]", count: depth % 2) + String(repeating: "]}", count: depth / 2)
        }
        _ = try JSONValue(parsing: nested(limit))
        for text in [nested(limit + 1), String(repeating: "[", count: 1_000_000), nested(100_000)] {
            let error = try #require(throws: APIError.self) { try JSONValue(parsing: text) }
            #expect(error.detail.contains("nested too deeply"))
            #expect(error.allowed == "64 levels")
        }
    }

    @Test("The place of an error")
    func statesThePlace() throws {
        let error = try #require(throws: APIError.self) { try JSONValue(parsing: "{\n  \"a\": tru\n}") }
        #expect(error.detail == "Unexpected `t`, in line 2 at byte 8.")
    }

    @Test(
        "Time grows with the length only",
        arguments: [
            { count in "[" + (0..<count).map { #"{"key\#($0)":"\u00e9\n"}"# }.joined(separator: ",") + "]" },
            { count in "{" + (0..<count).map { #""key\#($0)":\#($0)"# }.joined(separator: ",") + "}" },
            { count in "\"" + String(repeating: #"\\x"#, count: count * 4) + "\"" },
            { count in "[0." + String(repeating: "7", count: count * 10) + "]" },
            { count in "[1e-" + String(repeating: "0", count: count * 10) + "1]" },
            { count in "{\"" + String(repeating: "a\u{301}\u{323}", count: count) + "\":1}" },
            { count in "{\"\u{1100}" + String(repeating: "\u{1161}\u{DCF}\u{200D}", count: count) + "\":1}" },
            { count in "{\"" + String(repeating: "\u{1F1E9}", count: count) + "\":1}" },
        ] as [@Sendable (Int) -> String]
    )
    func takesLinearTime(text: @Sendable (Int) -> String) throws {
        func seconds(_ text: String) throws -> Double {
            let bytes = Array(text.utf8)
            let durations = try (0..<3).map { _ in
                try ContinuousClock().measure {
                    // What a service does with a request.
                    let value = try JSONValue(parsing: bytes)
                    #expect(throws: APIError.self) { try JobRequest.decode(json: value) }
                }
            }
            return (durations.min() ?? .zero) / .seconds(1)
        }
        // Eight times the length; quadratic time would be 64 times as long.
        #expect(try seconds(text(16_000)) < 30 * seconds(text(2_000)) + 0.05)
    }

    @Test("A long row of combining characters is refused, because sorting it takes quadratic time")
    func limitsCombiningCharacters() throws {
        let limit = JSONValue.mostCombining
        func text(_ count: Int) -> String { "a" + String(repeating: "\u{301}", count: count) }
        let longest: JSONValue = ["key": .string(text(limit) + text(limit))]
        #expect(try JSONValue(parsing: longest.bytes) == longest)
        let escaped = "a" + String(repeating: #"\u0301"#, count: limit + 1)
        for body in [#"{"\#(text(limit + 1))":1}"#, #"["\#(text(1_000_000))"]"#, #"["\#(escaped)"]"#] {
            let error = try #require(throws: APIError.self) { try JSONValue(parsing: body) }
            #expect(error.code == .invalidJSON && error.allowed == "30")
            #expect(error.detail.contains("combining characters"))
        }
    }

    @Test("What is written can be read, whatever a file has as its title")
    func writesReadableTexts() throws {
        let title = JSONValue.string("a\u{0}b" + String(repeating: "\u{301}", count: 100_000) + "\u{1}\u{7F}c")
        guard case .string(let read) = try JSONValue(parsing: title.bytes) else {
            Issue.record("no text")
            return
        }
        #expect(read.unicodeScalars.starts(with: "a\u{FFFD}b\u{301}".unicodeScalars))
        #expect(read.hasSuffix("\u{1}\u{7F}c"))
        #expect(read.unicodeScalars.count { $0 == "\u{301}" } == 100_000)
        #expect(try JSONValue(parsing: JSONValue.string(read).bytes) == .string(read))
    }

    @Test("Changed bytes never crash the parser, and what it reads is written and read the same")
    func survivesChanges() throws {
        var random = Generator(seed: 27)
        let seeds = [
            #"{"input":{"path":"media/a.mov"},"outputs":[{"kind":"file","name":"a.mp4","video":{"bitRate":5e6}}]}"#,
            #"[-1.5e-3,"\ud83d\ude00\u00e9",[[[]]],{"a":{"b":null}},true,9223372036854775807]"#,
        ]
        var accepted = 0
        for round in 0..<20_000 {
            var bytes = Array(seeds[round % 2].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
                default: bytes[place] = Array(#"{}[]",:\0e.-"#.utf8).randomElement(using: &random) ?? 0
                }
            }
            do {
                let value = try JSONValue(parsing: bytes)
                #expect(try JSONValue(parsing: value.bytes) == value)
                accepted += 1
            } catch {
                #expect(error.code == .invalidJSON)
            }
        }
        #expect((1_000..<19_000).contains(accepted))
    }
}

/// SplitMix64: the same numbers for the same seed.
struct Generator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

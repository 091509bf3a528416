// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import EncodingBenchmark

@Suite struct PlanSyntaxTests {
    /// A node in one line: `[...]`, `{key=value}`, scalars between bars.
    private func outline(_ node: PlanNode) -> String {
        switch node.content {
        case .scalar(let text): "|\(text)|"
        case .sequence(let items): "[" + items.map(outline).joined(separator: " ") + "]"
        case .mapping(let pairs):
            "{" + pairs.map { "\($0.key.scalar ?? "?")=\(outline($0.value))" }.joined(separator: " ") + "}"
        }
    }

    private func read(_ text: String) throws -> String {
        try PlanSyntax.node(of: text, name: "plan").map(outline) ?? "nothing"
    }

    @Test(arguments: [
        ("", "nothing"),
        ("# nothing but this\n\n", "nothing"),
        ("---\n", "nothing"),
        ("word", "|word|"),
        ("a: b", "{a=|b|}"),
        ("\u{FEFF}---\r\na: b\r\nc: d\r\n...\r\n", "{a=|b| c=|d|}"),
        ("a:   b c   # comment\nd: e#f\n", "{a=|b c| d=|e#f|}"),
        ("a:\nb: ''\nc:\n", "{a=|| b=|| c=||}"),
        ("url: x264:fast\ntime: 1:2", "{url=|x264:fast| time=|1:2|}"),
        ("- a\n-\n- b: c\n  d: e\n- - f\n  - g\n- [h]", "[|a| || {b=|c| d=|e|} [|f| |g|] [|h|]]"),
        ("a:\n- b\n- c\nd:\n    - e\n\n  # between\n    - f\n", "{a=[|b| |c|] d=[|e| |f|]}"),
        ("a:\n  b:\n    c: d\n  e: f\ng: h", "{a={b={c=|d|} e=|f|} g=|h|}"),
        ("[]", "[]"), ("{}", "{}"), ("[a, [b, {c: d}], ]", "[|a| [|b| {c=|d|}]]"),
        ("a: [b,\n  # comment\n  c\n]\nd: {e: 1,\n\tf: }", "{a=[|b| |c|] d={e=|1| f=||}}"),
        ("{\"a\":1,\"b\":[true,null,-1.5e3]}", "{a=|1| b=[|true| |null| |-1.5e3|]}"),
        ("{\n\t\"a\" : \"b\"\n}\n", "{a=|b|}"),
        (
            #"["\"\\\/\b\f\n\r\t\u0041\ud83d\ude00", 'it''s', "ü # [ü]"]"#,
            "[|\"\\/\u{8}\u{C}\n\r\tA😀| |it's| |ü # [ü]|]"
        ),
        ("\"a b\": c\n'd': e", "{a b=|c| d=|e|}"),
        ("-1: --x\n?a: :y", "{-1=|--x| ?a=|:y|}"),
    ])
    func whatIsReadIsWhatIsMeant(_ text: String, _ meaning: String) throws {
        #expect(try read(text) == meaning)
    }

    @Test(arguments: [
        ("a: b\na: c", 2, "duplicate"),
        ("{a: b, a: c}", 1, "duplicate"),
        ("a: b: c", 1, "not terminated"),
        ("a: b\n  c: d", 2, "unexpected text"),
        ("a: b\nword", 2, "no value"),
        ("a:\n  b: c\n d: e", 3, "unexpected text"),
        ("- a\nb", 2, "unexpected text"),
        ("a: |\n  text", 1, "reserved character"),
        ("a: &b c", 1, "reserved character"),
        ("a: *b", 1, "reserved character"),
        ("a: !!str b", 1, "reserved character"),
        ("? a\n: b", 1, "reserved character"),
        ("%YAML 1.2\n---\na: b", 1, "reserved character"),
        ("a: - b", 1, "reserved character"),
        ("a: b\n---\nc: d", 2, "unexpected text"),
        ("a:\n\tb: c", 2, "a tab"),
        ("[a", 1, "not terminated"), ("[", 1, "ends inside"), ("{a", 1, "no value"), ("{a: b", 1, "not terminated"),
        ("[a]]", 1, "not terminated"), ("[a: b]", 1, "not terminated"), ("[a b] c", 1, "not terminated"),
        ("a: 'b", 1, "not terminated"), ("a: \"b\nc\"", 1, "not terminated"), ("a: 'b' c", 1, "not terminated"),
        (#"a: "\q""#, 1, "escape"), (#"a: "\u12"#, 1, "not terminated"), (#"a: "\u12g4""#, 1, "escape"),
        (#"a: "\ud800""#, 1, "surrogate"), (#"a: "\udc00\ud800""#, 1, "surrogate"),
    ])
    func whatIsNotReadIsRefusedWithItsLine(_ text: String, _ line: Int, _ words: String) throws {
        let error = try #require(throws: MediaError.self) { try read(text) }
        #expect(error.code == .invalidArgument)
        #expect(error.message.hasPrefix("plan, line \(line): ") && error.message.contains(words), "\(error)")
        #expect(error.allowed != nil)
    }

    @Test(arguments: ["[", "{a: ", "- "])
    func depthIsBounded(_ opening: String) throws {
        let error = try #require(throws: MediaError.self) { try read(String(repeating: opening, count: 100_000)) }
        #expect(error.message.contains("too deeply"), "\(error)")
    }

    @Test func nodesTellTheirLines() throws {
        let node = try #require(try PlanSyntax.node(of: "# first\na: 1\nb:\n  - x\n\n  - {c:\n d}\n", name: "plan"))
        guard case .mapping(let pairs) = node.content, case .sequence(let items) = pairs[1].value.content,
            case .mapping(let inner) = items[1].content
        else {
            Issue.record("\(outline(node))")
            return
        }
        #expect(pairs.map(\.key.line) == [2, 3] && pairs.map(\.value.line) == [2, 4])
        #expect(items.map(\.line) == [4, 6] && inner.map(\.value.line) == [7])
    }
}

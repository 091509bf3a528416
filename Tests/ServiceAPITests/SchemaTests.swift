// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@testable import ServiceAPI

/// JSON Schema, as Python's jsonschema understands it, and the decoder must have the same opinion of every value.
@Suite("Schemas")
struct SchemaTests {
    static let document = OpenAPIDocument(version: "1.2.3")
    static let types = document.parts.registry.types

    @Test("Values made from the schemas, and changed at random, are refused by both or by neither")
    func agreesAboutValues() throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["VATOOLBOX_TEST_SEED"] ?? "27"
        let count = environment["VATOOLBOX_TEST_VALUES"] ?? "60"
        let lines = try Python.run("generate", seed, count).split(separator: "\n")
        var valid = 0
        var invalid = 0
        var written: [JSONValue] = []
        var validTypes: Set<String> = []
        for line in lines {
            let record = try Record.decode(json: Array(line.utf8))
            let type = try #require(Self.types[record.type])
            let (refusal, again) = Self.judge(record.json, as: type, mode: .fieldsOnly)
            let comment: Comment = "\(record.type), seed \(seed): \(record.json): \(String(describing: refusal))"
            if let refusal {
                // Schemas of answers allow unknown keys, and clients ignore them.
                let isUnknownKey = refusal.code == .unknownField && !Self.isClosed(record.type)
                #expect(!record.fieldsAreValid || isUnknownKey, comment)
            } else {
                #expect(record.fieldsAreValid, comment)
            }
            if Self.judge(record.json, as: type, mode: .request).0 == nil { #expect(record.valid, comment) }
            if record.fieldsAreValid { valid += 1 } else { invalid += 1 }
            guard record.valid, let again else { continue }
            validTypes.insert(record.type)
            written.append(["type": .string(record.type), "json": .string(again.text)])
        }
        // Both kinds are there, so the test could fail.
        #expect(valid > lines.count / 2 && invalid > lines.count / 6, "\(valid) valid, \(invalid) invalid")
        #expect(validTypes == Set(Self.types.keys))
        let complaints = try Python.run("judge", input: written.map(\.text).joined(separator: "\n"))
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test("Requests that the schema refuses for rules of several keys are refused, too")
    func agreesAboutFurtherSchema() throws {
        let cases: [(type: String, json: String)] = [
            ("Input", "{}"), ("Input", #"{"path":"m/a","upload":"a"}"#), ("JobRequest", #"{"input":{"path":"m/a"}}"#),
            ("JobRequest", #"{"input":{"path":"m/a"},"outputs":[]}"#),
        ]
        let lines = cases.map { record in
            let json: JSONValue = ["type": .string(record.type), "json": .string(record.json)]
            return json.text
        }
        let complaints = try Python.run("judge", input: lines.joined(separator: "\n")).split(separator: "\n")
        #expect(complaints.count == cases.count)
        for record in cases {
            let type = try #require(Self.types[record.type])
            #expect(throws: APIError.self) { _ = try type.decode(json: Array(record.json.utf8)) }
        }
    }

    @Test("Examples are valid requests, and the schemas agree")
    func agreesAboutExamples() throws {
        var records: [JSONValue] = []
        for (name, type) in Self.types {
            guard let example = type.example as (any APIObject)? else { continue }
            #expect(throws: Never.self) { _ = try type.decode(json: example.jsonBytes) }
            records.append(["type": .string(name), "json": .string(example.json.text)])
        }
        #expect(records.count >= 5)
        let complaints = try Python.run("judge", input: records.map(\.text).joined(separator: "\n"))
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test("Texts of requests have a limit and no control characters")
    func limitsTexts() throws {
        let registry = Self.document.parts.registry
        var texts = 0
        func check(_ schema: JSONValue, _ place: String) {
            if schema["type"] == "string", schema["enum"] == nil {
                texts += 1
                #expect(schema["maxLength"] != nil && schema["pattern"] != nil, "\(place)")
                if case .string(let expression) = schema["pattern"], let regex = try? Regex(expression) {
                    #expect("a\u{1}b".wholeMatch(of: regex) == nil, "\(place)")
                }
            }
            if schema["type"] == "array" {
                #expect(schema["maxItems"] != nil, "\(place)")
                if let items = schema["items"] { check(items, place) }
            }
            if let values = schema["additionalProperties"], values != false {
                #expect(schema["maxProperties"] != nil, "\(place)")
                check(values, place)
            }
        }
        for (name, schema) in registry.schemas where schema["additionalProperties"] == false {
            guard case .object(let properties) = schema["properties"] else { continue }
            for member in properties.members { check(member.value, "\(name).\(member.key)") }
        }
        #expect(texts >= 15)
    }

    private static func isClosed(_ name: String) -> Bool {
        document.parts.registry.schemas[name]?["additionalProperties"] == false
    }

    /// The error of reading a value, or the value as it is written.
    private static func judge<Value: APIObject>(
        _ json: String,
        as type: Value.Type,
        mode: DecodingMode
    ) -> (APIError?, JSONValue?) {
        do {
            return (nil, try type.decode(json: Array(json.utf8), mode: mode).json)
        } catch {
            return (error, nil)
        }
    }

    /// A value that Python has made.
    struct Record: APIObject {
        var type = ""
        var valid = false
        var fieldsAreValid = false
        var json = ""

        static let summary = "A value that Python has made"
        static let fields: Fields<Self> = [
            .required("type", \.type, "Type"), .required("valid", \.valid, "Whether the schema allows it"),
            .required("fieldsAreValid", \.fieldsAreValid, "Whether it does without the rules of several keys"),
            .required("json", \.json, "JSON"),
        ]
    }
}

/// Python with the package jsonschema, and Tests/API/schema.py.
enum Python {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The interpreter: that of the environment, or the first one that has the package.
    private static let interpreter: String? = {
        if let given = ProcessInfo.processInfo.environment["VATOOLBOX_TEST_PYTHON"] { return given }
        let candidates = ["python3", "/usr/bin/python3"]
        return candidates.first { (try? start($0, ["-c", "import jsonschema"], input: ""))?.status == 0 }
    }()

    /// Runs the script with the document, and returns what it prints.
    static func run(_ command: String, _ arguments: String..., input: String = "") throws -> String {
        let interpreter = try #require(
            interpreter,
            "No Python has the package jsonschema; `scripts/setup --tests` installs it"
        )
        let document = FileManager.default.temporaryDirectory.appending(path: "openapi-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: document) }
        try Data(SchemaTests.document.json.bytes).write(to: document)
        let script = folder.appending(path: "Tests/API/schema.py").path
        let result = try start(interpreter, [script, command, document.path] + arguments, input: input)
        try #require(result.status == 0, "\(script) \(command) ended with \(result.status)")
        return result.output
    }

    private static func start(
        _ program: String,
        _ arguments: [String],
        input: String
    ) throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "input-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(input.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardInput = try FileHandle(forReadingFrom: file)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}

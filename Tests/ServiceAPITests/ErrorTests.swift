// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import Testing

@Suite("Errors")
struct ErrorTests {
    @Test("Each code has a status, a title and a remedy, and one description")
    func describesErrors() {
        for code in ErrorCode.allCases {
            #expect((400...599).contains(code.status))
            #expect(!code.title.isEmpty && !code.title.hasSuffix("."))
            #expect(!code.remedies.isEmpty && code.remedies.allSatisfy { $0.hasSuffix(".") })
        }
        #expect(Set(ErrorCode.allCases.map(\.title)).count == ErrorCode.allCases.count)
        let codes = ErrorDescription.all.map(\.code)
        #expect(Set(codes) == Set(ErrorCode.allCases.map(\.rawValue) + FailureCode.allCases.map(\.rawValue)))
        #expect(codes.count == Set(codes).count)
    }

    @Test("Every code of the library's errors is described")
    func describesFailuresOfTheCommand() throws {
        let source = OpenAPITests.root.appending(path: "Sources/MediaTypes/Values/MediaError.swift")
        let text = try String(contentsOf: source, encoding: .utf8)
        let codes = text.matches(of: /Code\(rawValue: "([a-z-]+)"\)/).map { String($0.1) }
        #expect(codes.count >= 15)
        for code in codes { #expect(FailureCode(rawValue: code) != nil, "\(code)") }
    }

    @Test("A client reads what a service has sent, even codes that it does not know")
    func readsProblems() throws {
        let error = APIError(
            .conflict,
            "The name a.mov is taken",
            field: "name",
            value: "a.mov",
            allowed: "another name",
            cause: "busy"
        )
        let problem = Problem(error, requestID: "r7")
        #expect(try Problem.decode(json: problem.jsonBytes, mode: .response) == problem)
        #expect(problem.errorCode == .conflict && problem.status == 409 && problem.type == "/v1/errors/conflict")
        let newer = #"""
            {"type":"/v1/errors/teapot","title":"A teapot","status":418,"detail":"Short and stout.","code":"teapot",
             "requestID":"r8","brew":null}
            """#
        let read = try Problem.decode(json: Array(newer.utf8), mode: .response)
        #expect(read.code == "teapot" && read.errorCode == nil)
    }

    @Test("Pointers escape ~ and /, even before combining characters")
    func escapesPointers() {
        #expect(APIError(.invalidRequest, "x").within("a/b~c").within("0").field == "/0/a~1b~0c")
        #expect(APIError(.invalidRequest, "x").within("/\u{301}").field == "/~1\u{301}")
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import Testing

@Suite("The OpenAPI document")
struct OpenAPITests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// `docs/openapi.json` shows what a change of the API changes. `scripts/verify api --write` writes it.
    @Test("docs/openapi.json is the document of the present types")
    func isStored() throws {
        let file = Self.root.appending(path: "docs/openapi.json")
        let bytes = OpenAPIDocument(version: "1").json.indentedBytes
        if ProcessInfo.processInfo.environment["VATOOLBOX_WRITE_OPENAPI"] != nil {
            try Data(bytes).write(to: file)
        }
        let stored = try Data(contentsOf: file)
        #expect(stored == Data(bytes), "docs/openapi.json is out of date: run `scripts/verify api --write`")
    }

    @Test("Operations have different names and places")
    func isUnambiguous() {
        let operations = Operation.all
        #expect(Set(operations.map(\.id)).count == operations.count)
        // Parameters of different names are the same place.
        let places = operations.map { operation in
            let segments = operation.path.split(separator: "/").map { $0.hasPrefix("{") ? "{}" : String($0) }
            return "\(operation.method.rawValue) /\(segments.joined(separator: "/"))"
        }
        #expect(Set(places).count == places.count)
    }

    @Test("Everything but descriptions, health and the dashboard needs a key; changes do without exception")
    func needsKeys() {
        let open = Operation.all.filter { $0.scope == nil }.map(\.id)
        #expect(
            Set(open) == [
                "getService", "getDocument", "listErrors", "getError", "getTusOptions", "getHealth", "getReadiness",
                "getDashboard",
            ]
        )
        for operation in Operation.all where operation.scope != nil {
            #expect(Set(operation.allErrors).isSuperset(of: [.unauthorized, .forbidden]), "\(operation.id)")
        }
    }

    @Test("Every operation that clients rely on is there")
    func isComplete() {
        let expected = """
            GET /v1, GET /v1/openapi.json, GET /v1/capabilities, GET /v1/errors, GET /v1/errors/{code}, POST /v1/probe,
            PUT /v1/uploads/{name}, GET /v1/uploads, GET /v1/uploads/{name}, DELETE /v1/uploads/{name},
            OPTIONS /v1/tus, POST /v1/tus, HEAD /v1/tus/{id}, PATCH /v1/tus/{id}, DELETE /v1/tus/{id}, POST /v1/jobs,
            GET /v1/jobs, GET /v1/jobs/{id}, DELETE /v1/jobs/{id}, POST /v1/jobs/{id}/cancel, POST /v1/jobs/{id}/retry,
            GET /v1/jobs/{id}/waiting, GET /v1/jobs/{id}/log, GET /v1/jobs/{id}/events, GET /v1/events,
            GET /v1/jobs/{id}/files/{path...}, GET /v1/jobs/{id}/preview/{name}, POST /v1/links, GET /v1/queues,
            GET /v1/queues/{name},
            PUT /v1/queues/{name}, DELETE /v1/queues/{name}, POST /v1/queues/{name}/pause,
            POST /v1/queues/{name}/resume, POST /v1/queues/{name}/drain, POST /v1/drain, POST /v1/resume,
            GET /v1/status, GET /v1/support, GET /v1/watches, GET /v1/watches/{name}, PUT /v1/watches/{name},
            DELETE /v1/watches/{name}, GET /v1/presets,
            GET /v1/presets/{name}, PUT /v1/presets/{name}, DELETE /v1/presets/{name}, GET /v1/keys, POST /v1/keys,
            POST /v1/keys/{id}/rotate, DELETE /v1/keys/{id}, GET /v1/jobs/{id}/deliveries,
            POST /v1/jobs/{id}/deliveries/{deliveryID}/redeliver, POST /v1/encode, GET /healthz, GET /readyz,
            GET /metrics, GET /, GET /v1/webhooks/secret, POST /v1/webhooks/secret/rotate, POST /v1/live, GET /v1/live,
            GET /v1/live/{id}, DELETE /v1/live/{id}, POST /v1/live/{id}/stop, POST /v1/live/{id}/switch,
            POST /v1/live/{id}/update, GET /v1/live/{id}/hls/{output}/{path...}
            """
        let listed = expected.split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        #expect(Set(Operation.all.map { "\($0.method.rawValue) \($0.path)" }) == Set(listed))
    }

    @Test("Answers to bad bodies are in the document as problems")
    func listsErrors() {
        let document = OpenAPIDocument(version: "1").json
        let submit = document["paths"]?["/v1/jobs"]?["post"]
        func response(_ status: String) -> JSONValue? {
            guard case .string(let reference) = submit?["responses"]?[status]?["$ref"] else { return nil }
            return document["components"]?["responses"]?[String(reference.split(separator: "/").last ?? "")]
        }
        for status in ["400", "401", "403", "404", "409", "413", "415", "429", "431", "500", "503", "507"] {
            let schema = response(status)?["content"]?["application/problem+json"]?["schema"]
            #expect(schema == ["$ref": "#/components/schemas/Problem"], "\(status)")
        }
        guard case .string(let description) = response("400")?["description"] else {
            Issue.record("no description")
            return
        }
        for code in ["invalid-json", "invalid-request", "unknown-field", "missing-field", "invalid-parameter"] {
            #expect(description.contains("`\(code)`"))
        }
        #expect(response("429")?["headers"]?["Retry-After"] != nil)
        #expect(submit?["security"] == [["key": ["jobs:write"]]])
        #expect(document["paths"]?["/v1"]?["get"]?["security"] == [])
    }
}

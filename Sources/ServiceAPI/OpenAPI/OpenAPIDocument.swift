// SPDX-License-Identifier: GPL-2.0-or-later

/// The document that describes the API: OpenAPI 3.1.0, made from the operations and the types that they name.
package struct OpenAPIDocument: Sendable {
    /// The version of the service that the document states.
    package let version: String
    /// The operations.
    package let operations: [Operation]

    /// Makes the document of some operations, by default of all.
    package init(version: String, operations: [Operation] = Operation.all) {
        self.version = version
        self.operations = operations
    }

    /// The document.
    package var json: JSONValue {
        let (paths, registry) = parts
        let problems = Set(operations.flatMap(\.problems)).sorted { $0.name.precedesByBytes($1.name) }
            .map { JSONObject.Member($0.name, .object($0.document)) }
        let schemas = registry.schemas.sorted { $0.key.precedesByBytes($1.key) }
            .map { JSONObject.Member($0.key, .object($0.value)) }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "VAToolbox encoding service",
                "description": .string(Self.introduction),
                "version": .string(version),
                "license": ["name": "GPL-2.0-or-later", "identifier": "GPL-2.0-or-later"],
            ],
            "servers": [["url": "/", "description": "The server that answers with this document"]],
            "tags": .array(Operation.Group.allCases.map { ["name": .string($0.rawValue)] }),
            "paths": .object(paths),
            "components": [
                "schemas": .object(JSONObject(members: schemas)),
                "responses": .object(JSONObject(members: problems)),
                "securitySchemes": [
                    "key": [
                        "type": "http", "scheme": "bearer",
                        "description": "The secret of a key. Each operation names the scope that the key needs.",
                    ]
                ],
            ],
        ]
    }

    /// What applies to all operations.
    private static let introduction = """
        Encodes video on GPUs by VA-API, and on the CPU.

        Times are RFC 3339 in UTC, durations are in seconds, rates in bit/s, sizes in bytes. An answer leaves out \
        values that do not exist. A request with an unknown key, a key that occurs twice, or `null` is refused.

        Answers of version 1 may get further keys, which clients ignore; the words of an `enum` stay the same. Errors \
        (`application/problem+json`) say what is wrong, where, what was given, what is allowed, and what to do.
        """

    /// The paths with their operations, and the schemas of all types that they name.
    var parts: (paths: JSONObject, registry: SchemaRegistry) {
        var registry = SchemaRegistry()
        // Types that requests contain refuse unknown keys, wherever else they occur.
        registry.isClosed = true
        for operation in operations {
            for content in operation.request?.contents ?? [] {
                if case .json(let shape) = content { _ = shape.reference(&registry) }
            }
        }
        registry.isClosed = false
        _ = registry.reference(to: Problem.self)

        var paths = JSONObject()
        for operation in operations {
            let path = operation.path.split(separator: "...", omittingEmptySubsequences: false).joined()
            var item = JSONObject()
            if case .object(let earlier) = paths[path] { item = earlier }
            item[operation.method.rawValue.lowercased()] = .object(operation.document(in: &registry))
            paths[path] = .object(item)
        }
        return (paths, registry)
    }
}

extension Operation {
    fileprivate func document(in registry: inout SchemaRegistry) -> JSONObject {
        var document: JSONObject = [
            "operationId": .string(id), "tags": [.string(group.rawValue)], "summary": .string(summary),
        ]
        if let details { document["description"] = .string(details) }
        document["security"] = scope.map { [["key": [$0.json]]] } ?? []
        let parameters = self.parameters(in: &registry)
        if !parameters.isEmpty { document["parameters"] = .array(parameters) }
        if let request {
            document["requestBody"] = [
                "required": .bool(request.isRequired), "content": .object(request.contents.document(in: &registry)),
            ]
        }
        var answers = JSONObject()
        for response in responses { answers["\(response.status)"] = .object(response.document(in: &registry)) }
        for problem in problems {
            answers["\(problem.status)"] = ["$ref": .string("#/components/responses/\(problem.name)")]
        }
        document["responses"] = .object(answers)
        return document
    }

    private func parameters(in registry: inout SchemaRegistry) -> [JSONValue] {
        var parameters: [JSONValue] = []
        for parameter in pathParameters {
            let schema = parameter.rule.schema(in: &registry)
            parameters.append([
                "name": .string(parameter.name), "in": "path", "required": true,
                "description": .string(parameter.documentation), "schema": .object(schema),
            ])
        }
        for property in query?.properties(&registry) ?? [] {
            parameters.append([
                "name": .string(property.name), "in": "query", "required": .bool(property.isRequired),
                "description": .string(property.documentation), "schema": .object(property.schema),
            ])
        }
        for header in headers {
            parameters.append([
                "name": .string(header.name), "in": "header", "required": .bool(header.isRequired),
                "description": .string(header.summary), "schema": .object(header.schema),
            ])
        }
        return parameters
    }

    /// What the parameters of paths hold.
    static let pathDescriptions = [
        "id": "ID", "name": "Name; of an upload also its ID", "code": "Code of an error or a failure",
        "path": "Path within the results, which may contain slashes", "deliveryID": "ID of the report",
    ]

    /// The errors by status.
    fileprivate var problems: [ProblemResponse] {
        Dictionary(grouping: allErrors, by: \.status).sorted { $0.key < $1.key }
            .map { ProblemResponse(status: $0.key, codes: $0.value, hasBody: method != .head) }
    }
}

/// The answer to errors with the same status, which several operations have.
private struct ProblemResponse: Hashable {
    var status: Int
    var codes: [ErrorCode]
    var hasBody: Bool

    /// The name in the document.
    var name: String {
        (codes.map(\.rawValue) + (hasBody ? [] : ["head"])).joined(separator: ".")
    }

    var document: JSONObject {
        let lines = codes.map { "`\($0.rawValue)`: \($0.title)" }
        var response: JSONObject = ["description": .string(lines.joined(separator: "; "))]
        if codes.contains(.rateLimited) || codes.contains(.unavailable) {
            response["headers"] = [
                "Retry-After": ["description": "Seconds to wait", "schema": ["type": "integer", "minimum": 0]]
            ]
        }
        if hasBody {
            response["content"] = [Problem.mediaType: ["schema": ["$ref": "#/components/schemas/Problem"]]]
        }
        return response
    }
}

extension Response {
    fileprivate func document(in registry: inout SchemaRegistry) -> JSONObject {
        var document: JSONObject = ["description": .string(summary)]
        var fields = JSONObject()
        for header in headers {
            fields[header.name] = ["description": .string(header.summary), "schema": .object(header.schema)]
        }
        if !headers.isEmpty { document["headers"] = .object(fields) }
        if !contents.isEmpty { document["content"] = .object(contents.document(in: &registry)) }
        return document
    }
}

extension [Content] {
    /// The contents by media type. Several types of values with the same media type are alternatives.
    fileprivate func document(in registry: inout SchemaRegistry) -> JSONObject {
        var schemas: [(mediaType: String, alternatives: [JSONValue])] = []
        for content in self {
            let schema: JSONObject =
                switch content {
                case .json(let shape): shape.reference(&registry)
                case .bytes: [:]
                case .text: ["type": "string"]
                case .document: ["type": "object"]
                case .events(let shape):
                    [
                        "type": "string",
                        "description": .string("Each `data` is a value of \(shape.name)"),
                        "contentMediaType": "text/event-stream",
                    ]
                }
            if let index = schemas.firstIndex(where: { $0.mediaType == content.mediaType }) {
                schemas[index].alternatives.append(.object(schema))
            } else {
                schemas.append((content.mediaType, [.object(schema)]))
            }
        }
        var document = JSONObject()
        for (mediaType, alternatives) in schemas {
            let schema: JSONValue = alternatives.count == 1 ? alternatives[0] : ["anyOf": .array(alternatives)]
            document[mediaType] = ["schema": schema]
        }
        return document
    }
}

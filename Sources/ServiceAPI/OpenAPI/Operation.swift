// SPDX-License-Identifier: GPL-2.0-or-later

/// One method of one path of the API: what it reads, what it answers, and who may call it.
package struct Operation: Sendable {
    /// A method of HTTP.
    package enum Method: String, Sendable, Hashable, CaseIterable {
        case get = "GET"
        case head = "HEAD"
        case put = "PUT"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
        case options = "OPTIONS"
    }

    /// A group of operations in the documentation.
    package enum Group: String, Sendable, Hashable, CaseIterable {
        case jobs = "Jobs"
        case uploads = "Uploads"
        case results = "Results"
        case media = "Media"
        case queues = "Queues"
        case presets = "Presets"
        case watches = "Watched folders"
        case live = "Live jobs"
        case node = "Node"
        case keys = "Keys"
        case documentation = "Documentation"
    }

    /// The stable name, for generated clients.
    package let id: String
    /// The method.
    package let method: Method
    /// The path, with parameters in braces: `/v1/jobs/{id}`. A last parameter such as `{path...}` stands for several
    /// segments.
    package let path: String
    /// The group.
    package let group: Group
    /// What it does, as a sentence.
    package let summary: String
    /// Details; `nil` if there are none.
    package let details: String?
    /// The scope that a key needs; `nil` if no key is needed.
    package let scope: Scope?
    /// The query; `nil` if there is none.
    package let query: Shape?
    /// The header fields that it reads.
    package let headers: [Header]
    /// The body that it reads; `nil` if there is none.
    package let request: Body?
    /// The answers, apart from errors.
    package let responses: [Response]
    /// The errors that it can answer, in addition to those that follow from its other properties.
    package let errors: [ErrorCode]

    init(
        _ method: Method,
        _ path: String,
        id: String,
        _ group: Group,
        _ summary: String,
        details: String? = nil,
        scope: Scope?,
        query: Shape? = nil,
        headers: [Header] = [],
        request: Body? = nil,
        responses: [Response],
        errors: [ErrorCode] = []
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.group = group
        self.summary = summary
        self.details = details
        self.scope = scope
        self.query = query
        self.headers = headers
        self.request = request
        self.responses = responses
        self.errors = errors
    }
}

/// An object of the API as a value: how its schema is made.
package struct Shape: Sendable {
    /// The name in the document.
    package let name: String
    let reference: @Sendable (inout SchemaRegistry) -> JSONObject
    let properties: @Sendable (inout SchemaRegistry) -> [Property]

    /// A key of the object.
    struct Property {
        var name: String
        var documentation: String
        var isRequired: Bool
        var schema: JSONObject
    }

    /// The shape of a type.
    static func of<Value: APIObject>(_ type: Value.Type) -> Shape {
        Shape(
            name: Value.typeName,
            reference: { $0.reference(to: type) },
            properties: { registry in
                var properties: [Property] = []
                for field in Value.fields.list {
                    let schema = field.schema(&registry)
                    properties.append(
                        Property(
                            name: field.name,
                            documentation: field.documentation,
                            isRequired: field.isRequired,
                            schema: schema
                        )
                    )
                }
                return properties
            }
        )
    }
}

/// What a body contains.
package enum Content: Sendable {
    /// A value of the API as JSON.
    case json(Shape)
    /// Bytes of a media type.
    case bytes(String)
    /// Text of a media type.
    case text(String)
    /// A text of JSON that is no value of the API, such as the document itself.
    case document(String)
    /// Events, one after another, as long as the connection lasts: `text/event-stream`.
    case events(Shape)

    /// The media type.
    package var mediaType: String {
        switch self {
        case .json: "application/json"
        case .bytes(let type), .text(let type), .document(let type): type
        case .events: "text/event-stream"
        }
    }
}

/// The body of a request.
package struct Body: Sendable {
    /// Its types, of which a client chooses one.
    package let contents: [Content]
    /// Whether it must be sent.
    package let isRequired: Bool

    static func json<Value: APIObject>(_ type: Value.Type) -> Body {
        Body(contents: [.json(.of(type))], isRequired: true)
    }

    static func bytes(_ mediaType: String, isRequired: Bool = true) -> Body {
        Body(contents: [.bytes(mediaType)], isRequired: isRequired)
    }
}

/// An answer.
package struct Response: Sendable {
    /// The status.
    package let status: Int
    /// What it means.
    package let summary: String
    /// The types of its body, of which the client chooses one by `Accept`; none if there is no body.
    package let contents: [Content]
    /// The header fields that it has.
    package let headers: [Header]

    static func json<Value: APIObject>(_ type: Value.Type, headers: [Header] = []) -> Response {
        json(200, type, headers: headers)
    }

    static func json<Value: APIObject>(
        _ status: Int,
        _ type: Value.Type,
        _ summary: String? = nil,
        headers: [Header] = []
    ) -> Response {
        Response(status: status, summary: summary ?? Value.summary, contents: [.json(.of(type))], headers: headers)
    }

    static func empty(_ status: Int, _ summary: String, headers: [Header] = []) -> Response {
        Response(status: status, summary: summary, contents: [], headers: headers)
    }

    static func of(_ contents: [Content], _ summary: String, headers: [Header] = []) -> Response {
        of(200, contents, summary, headers: headers)
    }

    static func of(
        _ status: Int,
        _ contents: [Content],
        _ summary: String,
        headers: [Header] = []
    ) -> Response {
        Response(status: status, summary: summary, contents: contents, headers: headers)
    }
}

/// A field of a header.
package struct Header: Sendable {
    /// The name.
    package let name: String
    /// What it holds.
    package let summary: String
    /// Whether it must be there.
    package let isRequired: Bool
    let schema: JSONObject

    init(_ name: String, _ summary: String, isRequired: Bool = false, _ schema: JSONObject = ["type": "string"]) {
        self.name = name
        self.summary = summary
        self.isRequired = isRequired
        self.schema = schema
    }
}

extension Operation {
    /// Whether the body is JSON.
    private var readsJSON: Bool {
        request?.contents.contains { if case .json = $0 { true } else { false } } ?? false
    }

    /// Every error that the operation can answer, in the order of their declaration.
    package var allErrors: [ErrorCode] {
        var codes = Set(errors)
        codes.formUnion([.rateLimited, .headerTooLarge, .internal, .unavailable])
        if scope != nil { codes.formUnion([.unauthorized, .forbidden]) }
        if scope != nil, method != .get, method != .head, method != .options { codes.insert(.crossSite) }
        if !pathParameters.isEmpty || query != nil || !headers.isEmpty { codes.insert(.invalidParameter) }
        if !pathParameters.isEmpty { codes.insert(.notFound) }
        if readsJSON {
            codes.formUnion([.invalidJSON, .invalidRequest, .unknownField, .missingField])
        }
        if request != nil { codes.formUnion([.tooLarge, .unsupportedMediaType]) }
        return ErrorCode.allCases.filter(codes.contains)
    }
}

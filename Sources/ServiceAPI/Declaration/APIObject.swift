// SPDX-License-Identifier: GPL-2.0-or-later

/// An object of the API, which declares its fields once: decoding, checks, encoding and the schema follow from that.
///
/// ```
/// struct Rung: APIObject {
///     var height = 0
///     var bitRate: Int?
///     init() {}
///     static let summary = "A variant of a ladder"
///     static let fields: Fields<Self> = [
///         .required("height", \.height, in: .even(16...16384), "Height in pixels"),
///         .optional("bitRate", \.bitRate, in: .range(8_000...800_000_000), "Average bit rate in bit/s"),
///     ]
/// }
/// ```
package protocol APIObject: APIValue, Hashable {
    /// Makes a value with the defaults. Fields that are required have an arbitrary value, which must be replaced.
    init()

    /// The fields in the order in which they are written.
    static var fields: Fields<Self> { get }

    /// What it is, as a phrase, for the schema.
    static var summary: String { get }

    /// A complete value for the documentation.
    static var example: Self? { get }

    /// What the schema says beyond the fields: rules of ``validate()`` that JSON Schema can express.
    static var furtherSchema: JSONObject { get }

    /// Checks what concerns several fields. The fields have passed their own rules.
    ///
    /// - Throws: An error whose field is relative to this value.
    func validate() throws(APIError)
}

extension APIObject {
    package static var example: Self? { nil }
    package static var furtherSchema: JSONObject { [:] }
    package func validate() throws(APIError) {}

    /// Makes a value and sets its fields.
    package init(_ fill: (inout Self) -> Void) {
        self.init()
        fill(&self)
    }

    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Self {
        guard case .object(let object) = json else { throw .wrongType(json, expected: "an object") }
        let fields = fields
        var value = Self()
        var isGiven = [Bool](repeating: false, count: fields.list.count)
        for member in object.members {
            guard let index = fields.indices[member.key] else {
                if !mode.isStrict { continue }
                throw .unknownField(member.key, allowed: fields.list.map(\.name))
            }
            if !mode.isStrict && member.value == .null { continue }
            do {
                try fields.list[index].decode(member.value, mode, &value)
            } catch {
                throw error.within(member.key)
            }
            isGiven[index] = true
        }
        for (field, isGiven) in zip(fields.list, isGiven) where field.isRequired && !isGiven {
            throw APIError(
                .missingField,
                "The key is missing",
                allowed: field.documentation,
                remedies: ["Add `\(field.name)`."]
            )
            .within(field.name)
        }
        if mode.validates { try value.validate() }
        return value
    }

    package var json: JSONValue {
        var members: [JSONObject.Member] = []
        members.reserveCapacity(Self.fields.list.count)
        for field in Self.fields.list {
            if let value = field.encode(self) { members.append(JSONObject.Member(field.name, value)) }
        }
        return .object(JSONObject(members: members))
    }

    /// The name of the type in the document.
    package static var typeName: String { String(describing: Self.self) }

    package static func schema(in registry: inout SchemaRegistry) -> JSONObject {
        registry.reference(to: Self.self)
    }

    /// An error of ``validate()`` at a field of this value.
    package static func rejection(
        _ field: String,
        _ detail: String,
        value: JSONValue? = nil,
        allowed: String? = nil,
        remedies: [String] = []
    ) -> APIError {
        APIError(.invalidRequest, detail, value: value, allowed: allowed, remedies: remedies).within(field)
    }
}

/// The fields of an object.
package struct Fields<Root: APIObject>: Sendable, ExpressibleByArrayLiteral {
    let list: [Field<Root>]
    let indices: [String: Int]

    package init(arrayLiteral elements: Field<Root>...) {
        self.init(elements)
    }

    init(_ list: [Field<Root>]) {
        self.list = list
        indices = Dictionary(list.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    /// The fields of all parts.
    package static func joined(_ parts: Fields...) -> Fields { Fields(parts.flatMap(\.list)) }

    /// The fields as those of an object that has a value of this type, and writes its fields as its own.
    package func inlined<Outer: APIObject>(at path: any WritableKeyPath<Outer, Root> & Sendable) -> Fields<Outer> {
        Fields<Outer>(
            list.map { field in
                Field<Outer>(
                    name: field.name,
                    isRequired: field.isRequired,
                    documentation: field.documentation,
                    schema: field.schema,
                    decode: { (json, mode, outer: inout Outer) throws(APIError) in
                        try field.decode(json, mode, &outer[keyPath: path])
                    },
                    encode: { field.encode($0[keyPath: path]) }
                )
            }
        )
    }
}

/// A field of an object: its key, its place in the Swift value, its rule, and its documentation.
package struct Field<Root: APIObject>: Sendable {
    let name: String
    let isRequired: Bool
    let documentation: String
    let schema: @Sendable (inout SchemaRegistry) -> JSONObject
    let decode: @Sendable (JSONValue, DecodingMode, inout Root) throws(APIError) -> Void
    let encode: @Sendable (Root) -> JSONValue?

    /// A field that must be given, and is always written.
    package static func required<Value: APIValue>(
        _ name: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        in rule: Rule<Value> = .any,
        _ documentation: String
    ) -> Field {
        always(name, path, rule, documentation, isRequired: true) { rule.schema(in: &$0) }
    }

    /// A field that has the value of `Root()` if it is not given, and is always written.
    package static func defaulted<Value: APIValue>(
        _ name: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        in rule: Rule<Value> = .any,
        _ documentation: String
    ) -> Field {
        always(name, path, rule, documentation, isRequired: false) { registry in
            var schema = rule.schema(in: &registry)
            schema["default"] = Root()[keyPath: path].json
            return schema
        }
    }

    /// A field that is `nil` if it is not given, and is then not written. A number that is not finite is not written.
    package static func optional<Value: APIValue>(
        _ name: String,
        _ path: any WritableKeyPath<Root, Value?> & Sendable,
        in rule: Rule<Value> = .any,
        _ documentation: String
    ) -> Field {
        Field(
            name: name,
            isRequired: false,
            documentation: documentation,
            schema: { rule.schema(in: &$0) },
            decode: { (json, mode, root: inout Root) throws(APIError) in
                root[keyPath: path] = try rule.decode(json, mode: mode)
            },
            encode: { root in
                let json = root[keyPath: path]?.json
                if case .number(let number) = json, !number.isFinite { return nil }
                return json
            }
        )
    }

    private static func always<Value: APIValue>(
        _ name: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        _ rule: Rule<Value>,
        _ documentation: String,
        isRequired: Bool,
        schema: @escaping @Sendable (inout SchemaRegistry) -> JSONObject
    ) -> Field {
        Field(
            name: name,
            isRequired: isRequired,
            documentation: documentation,
            schema: schema,
            decode: { (json, mode, root: inout Root) throws(APIError) in
                root[keyPath: path] = try rule.decode(json, mode: mode)
            },
            encode: { $0[keyPath: path].json }
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// The schemas of the objects that were named so far, for `components/schemas` of the document.
package struct SchemaRegistry: Sendable {
    /// The schemas by name.
    private(set) var schemas: [String: JSONObject] = [:]
    /// The types by name.
    private(set) var types: [String: any APIObject.Type] = [:]
    /// Whether schemas forbid unknown keys. Schemas of requests do; those of answers do not, because more may be added.
    var isClosed = false

    package init() {}

    /// A reference to the schema of an object, which is added if it is new.
    mutating func reference<Value: APIObject>(to type: Value.Type) -> JSONObject {
        let name = Value.typeName
        if schemas[name] == nil {
            // An object may contain its own type.
            schemas[name] = [:]
            types[name] = type
            schemas[name] = schema(of: type)
        }
        return ["$ref": .string("#/components/schemas/\(name)")]
    }

    private mutating func schema<Value: APIObject>(of type: Value.Type) -> JSONObject {
        var properties = JSONObject()
        for field in Value.fields.list {
            var property = field.schema(&self)
            property["description"] = .string(field.documentation)
            properties[field.name] = .object(property)
        }
        var schema: JSONObject = ["type": "object", "description": .string(Value.summary)]
        schema["properties"] = .object(properties)
        let required = Value.fields.list.filter(\.isRequired).map(\.name.json)
        if !required.isEmpty { schema["required"] = .array(required) }
        if isClosed { schema["additionalProperties"] = false }
        schema.merge(Value.furtherSchema)
        if let example = Value.example { schema["examples"] = [example.json] }
        return schema
    }
}

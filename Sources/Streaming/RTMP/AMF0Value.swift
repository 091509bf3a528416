// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A value of Action Message Format 0, in which RTMP codes commands and metadata.
enum AMF0Value: Sendable, Hashable {
    /// A property of an object. Their order is kept.
    struct Property: Sendable, Hashable {
        var name: String
        var value: AMF0Value

        init(_ name: String, _ value: AMF0Value) { (self.name, self.value) = (name, value) }
    }

    case number(Double)
    case boolean(Bool)
    case string(String)
    case object([Property])
    case null
    case undefined
    case ecmaArray([Property])
    case strictArray([AMF0Value])
    /// Milliseconds since 1970, UTC.
    case date(Double)
    /// A value of a type that publishers do not need: its marker.
    case other(UInt8)

    /// The property with a name, of an object or an ECMA array.
    subscript(name: String) -> AMF0Value? {
        switch self {
        case .object(let properties), .ecmaArray(let properties): properties.last { $0.name == name }?.value
        default: nil
        }
    }

    /// The text of a string.
    var text: String? { if case .string(let text) = self { text } else { nil } }
    /// The number of a number.
    var number: Double? { if case .number(let number) = self { number } else { nil } }
}

/// The type markers: AMF0 2.1.
private enum Marker {
    static let (number, boolean, string, object, null) = (UInt8(0), UInt8(1), UInt8(2), UInt8(3), UInt8(5))
    static let (undefined, reference, ecmaArray, objectEnd) = (UInt8(6), UInt8(7), UInt8(8), UInt8(9))
    static let (strictArray, date, longString, unsupported) = (UInt8(10), UInt8(11), UInt8(12), UInt8(13))
    static let (xmlDocument, typedObject) = (UInt8(15), UInt8(16))
}

// MARK: - Writing

extension AMF0Value {
    /// Returns the coded values, one after the other.
    static func bytes(_ values: [AMF0Value]) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in values { value.write(to: &bytes) }
        return bytes
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .number(let number):
            bytes.append(Marker.number)
            bytes.append(bigEndian: number.bitPattern, count: 8)
        case .boolean(let isTrue): bytes += [Marker.boolean, isTrue ? 1 : 0]
        case .string(let text):
            let utf8 = text.utf8
            let isLong = utf8.count > 0xFFFF
            bytes.append(isLong ? Marker.longString : Marker.string)
            bytes.append(bigEndian: UInt(utf8.count), count: isLong ? 4 : 2)
            bytes += utf8
        case .object(let properties):
            bytes.append(Marker.object)
            Self.write(properties, to: &bytes)
        case .null: bytes.append(Marker.null)
        case .undefined: bytes.append(Marker.undefined)
        case .ecmaArray(let properties):
            bytes.append(Marker.ecmaArray)
            bytes.append(bigEndian: UInt(properties.count), count: 4)
            Self.write(properties, to: &bytes)
        case .strictArray(let values):
            bytes.append(Marker.strictArray)
            bytes.append(bigEndian: UInt(values.count), count: 4)
            for value in values { value.write(to: &bytes) }
        case .date(let milliseconds):
            bytes.append(Marker.date)
            bytes.append(bigEndian: milliseconds.bitPattern, count: 8)
            bytes += [0, 0]
        case .other: bytes.append(Marker.unsupported)
        }
    }

    private static func write(_ properties: [Property], to bytes: inout [UInt8]) {
        for property in properties {
            let name = property.name.utf8.prefix(0xFFFF)
            bytes.append(bigEndian: UInt(name.count), count: 2)
            bytes += name
            property.value.write(to: &bytes)
        }
        bytes += [0, 0, Marker.objectEnd]
    }
}

// MARK: - Reading

extension AMF0Value {
    /// Parses values up to the end of the bytes, or to the first one of a type that has no known length.
    ///
    /// - Throws: `malformedData` if a value is cut off or nested too deeply.
    static func values(in bytes: some Collection<UInt8>) throws(MediaError) -> [AMF0Value] {
        var reader = RTMPByteReader(bytes)
        var values: [AMF0Value] = []
        while reader.remaining > 0 {
            let value = try read(&reader, depth: 0)
            values.append(value)
            if case .other(let marker) = value, !hasKnownLength.contains(marker) { break }
        }
        return values
    }

    private static let greatestDepth = 16
    private static let hasKnownLength: Set<UInt8> = [Marker.reference, Marker.unsupported, Marker.xmlDocument]

    private static func read(_ reader: inout RTMPByteReader, depth: Int) throws(MediaError) -> AMF0Value {
        guard depth <= greatestDepth else { throw malformed("values nested too deeply") }
        let marker = try reader.byte()
        switch marker {
        case Marker.number: return .number(Double(bitPattern: try reader.number(byteCount: 8)))
        case Marker.boolean: return .boolean(try reader.byte() != 0)
        case Marker.string: return .string(try text(&reader, lengthBytes: 2))
        case Marker.longString: return .string(try text(&reader, lengthBytes: 4))
        case Marker.object: return .object(try properties(&reader, depth: depth))
        case Marker.typedObject:
            _ = try text(&reader, lengthBytes: 2)
            return .object(try properties(&reader, depth: depth))
        case Marker.null: return .null
        case Marker.undefined: return .undefined
        case Marker.ecmaArray:
            _ = try reader.bytes(4)
            return .ecmaArray(try properties(&reader, depth: depth))
        case Marker.strictArray:
            var values: [AMF0Value] = []
            for _ in 0..<(try reader.number(byteCount: 4)) { values.append(try element(&reader, depth: depth)) }
            return .strictArray(values)
        case Marker.date:
            let milliseconds = Double(bitPattern: try reader.number(byteCount: 8))
            _ = try reader.bytes(2)
            return .date(milliseconds)
        case Marker.reference: _ = try reader.bytes(2)
        case Marker.xmlDocument: _ = try text(&reader, lengthBytes: 4)
        default: break
        }
        return .other(marker)
    }

    /// Reads a value inside of another one, whose length must therefore be known.
    private static func element(_ reader: inout RTMPByteReader, depth: Int) throws(MediaError) -> AMF0Value {
        let value = try read(&reader, depth: depth + 1)
        if case .other(let marker) = value, !hasKnownLength.contains(marker) {
            throw malformed("an AMF0 value of the unknown type \(marker)")
        }
        return value
    }

    private static func properties(
        _ reader: inout RTMPByteReader,
        depth: Int
    ) throws(MediaError) -> [Property] {
        var properties: [Property] = []
        while true {
            let name = try text(&reader, lengthBytes: 2)
            if name.isEmpty, reader.next == Marker.objectEnd {
                _ = try reader.byte()
                return properties
            }
            properties.append(Property(name, try element(&reader, depth: depth)))
        }
    }

    private static func text(_ reader: inout RTMPByteReader, lengthBytes: Int) throws(MediaError) -> String {
        let count = Int(try reader.number(byteCount: lengthBytes))
        return String(decoding: try reader.bytes(count), as: UTF8.self)
    }

    private static func malformed(_ what: String) -> MediaError {
        MediaError(.malformedData, "the RTMP server sent \(what)")
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// A value that is sent in messages. It has exactly one byte representation, and no other bytes are read as that value.
protocol WireValue {
    init(from reader: inout WireReader) throws(WireError)
    func write(to writer: inout WireWriter) throws(WireError)
}

/// A structure whose fields are listed once, for reader and writer.
protocol WireStructure: WireValue {
    /// An initial value for reading; every field is overwritten.
    static var blank: Self { get }

    /// Passes every field to the visitor, always in the same order.
    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError)
}

/// Reads or writes fields.
protocol WireVisitor {
    mutating func field<Value: WireValue>(_ value: inout Value) throws(WireError)
    mutating func list<Value: WireValue>(_ values: inout [Value], atMost limit: Int) throws(WireError)
    mutating func blob(_ value: inout [UInt8], atMost limit: Int) throws(WireError)
}

extension WireReader: WireVisitor {
    mutating func field<Value: WireValue>(_ value: inout Value) throws(WireError) {
        value = try Value(from: &self)
    }

    mutating func list<Value: WireValue>(_ values: inout [Value], atMost limit: Int) throws(WireError) {
        values = try list(atMost: limit)
    }

    mutating func blob(_ value: inout [UInt8], atMost limit: Int) throws(WireError) {
        value = Array(try bytes(atMost: limit))
    }
}

extension WireWriter: WireVisitor {
    mutating func field<Value: WireValue>(_ value: inout Value) throws(WireError) {
        try value.write(to: &self)
    }

    mutating func list<Value: WireValue>(_ values: inout [Value], atMost limit: Int) throws(WireError) {
        try list(values, atMost: limit)
    }

    mutating func blob(_ value: inout [UInt8], atMost limit: Int) throws(WireError) {
        try bytes(value, atMost: limit)
    }
}

extension WireStructure {
    init(from reader: inout WireReader) throws(WireError) {
        self = Self.blank
        try visit(&reader)
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        var copy = self
        try copy.visit(&writer)
    }
}

// MARK: - Plain values

extension WireValue where Self: FixedWidthInteger {
    init(from reader: inout WireReader) throws(WireError) { self = try reader.integer() }
    func write(to writer: inout WireWriter) { writer.integer(self) }
}

extension UInt8: WireValue {}
extension UInt16: WireValue {}
extension UInt32: WireValue {}
extension UInt64: WireValue {}
extension Int32: WireValue {}
extension Int64: WireValue {}
/// Encoded in eight bytes.
extension Int: WireValue {}

extension Bool: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: self = false
        case 1: self = true
        case let other: throw reader.error("Bool", at: start, .noSuchValue(given: "\(other)"))
        }
    }

    func write(to writer: inout WireWriter) { writer.integer(UInt8(self ? 1 : 0)) }
}

extension Double: WireValue {
    init(from reader: inout WireReader) throws(WireError) { self.init(bitPattern: try reader.integer()) }
    func write(to writer: inout WireWriter) { writer.integer(bitPattern) }
}

extension String: WireValue {
    /// The maximum length of a string, in bytes of UTF-8.
    static let wireLimit = 4096

    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        let bytes = try reader.bytes(atMost: Self.wireLimit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw reader.error("String", at: start, .noSuchValue(given: "other than UTF-8"))
        }
        self = text
    }

    func write(to writer: inout WireWriter) throws(WireError) { try writer.bytes(utf8, atMost: Self.wireLimit) }

    /// The text truncated to fit a message, for texts that are only for people.
    var fittingWire: String {
        guard utf8.count > Self.wireLimit else { return self }
        var kept = ""
        var room = Self.wireLimit
        for scalar in unicodeScalars {
            room -= UTF8.width(scalar)
            if room < 0 { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept
    }
}

extension Optional: WireValue where Wrapped: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        self = try Bool(from: &reader) ? try Wrapped(from: &reader) : nil
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        (self != nil).write(to: &writer)
        if let self { try self.write(to: &writer) }
    }
}

extension ClosedRange: WireValue where Bound: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        let lower = try Bound(from: &reader)
        let upper = try Bound(from: &reader)
        guard lower <= upper else {
            throw reader.error("range", at: start, .noSuchValue(given: "from \(lower) to \(upper)"))
        }
        self = lower...upper
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        try lowerBound.write(to: &writer)
        try upperBound.write(to: &writer)
    }
}

extension WireValue where Self: RawRepresentable, RawValue: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        let rawValue = try RawValue(from: &reader)
        guard let value = Self(rawValue: rawValue) else {
            throw reader.error("\(Self.self)", at: start, .noSuchValue(given: "\(rawValue)"))
        }
        self = value
    }

    func write(to writer: inout WireWriter) throws(WireError) { try rawValue.write(to: &writer) }
}

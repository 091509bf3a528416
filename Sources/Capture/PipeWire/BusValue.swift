// SPDX-License-Identifier: GPL-2.0-or-later

internal import CSystemBus
internal import Glibc
internal import MediaTypes

/// A value of a D-Bus message, of the types that portals use.
indirect enum BusValue: Sendable {
    case string(String)
    case objectPath(String)
    case unsigned(UInt32)
    case signed(Int32)
    case flag(Bool)
    case descriptor(BusDescriptor)
    case array([BusValue])
    case structure([BusValue])
    case dictionary([String: BusValue])
    /// A value of a type that portals do not use here.
    case other

    /// The text of a string or an object path.
    var text: String? {
        switch self {
        case .string(let text), .objectPath(let text): text
        default: nil
        }
    }

    var number: UInt32? {
        if case .unsigned(let number) = self { return number }
        return nil
    }

    var elements: [BusValue]? {
        switch self {
        case .array(let values), .structure(let values): values
        default: nil
        }
    }

    var entries: [String: BusValue]? {
        if case .dictionary(let entries) = self { return entries }
        return nil
    }
}

/// A descriptor that a message has brought, closed with its last reference.
final class BusDescriptor: Sendable {
    let raw: Int32

    init(copying descriptor: Int32) { raw = fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }

    /// Returns a copy that belongs to the caller.
    ///
    /// - Throws: `outOfMemory` if there is none.
    func copy() throws(MediaError) -> Int32 {
        let copy = fcntl(raw, F_DUPFD_CLOEXEC, 0)
        guard copy < 0 else { return copy }
        throw MediaError(.outOfMemory, "no descriptor for PipeWire", call: "fcntl(F_DUPFD_CLOEXEC)", status: Int(errno))
    }

    deinit { if raw >= 0 { close(raw) } }
}

// MARK: - Messages

/// Reads and writes values of sd-bus messages. The functions return what sd-bus does: a negative errno for failures.
enum BusCoding {
    /// The deepest nesting of values; D-Bus allows no more.
    private static let deepest = 64

    /// Reads all values that are left in a message or a container.
    static func values(_ message: OpaquePointer, depth: Int = 0) -> [BusValue] {
        var values: [BusValue] = []
        while let value = next(message, depth) { values.append(value) }
        return values
    }

    private static func next(_ message: OpaquePointer, _ depth: Int) -> BusValue? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard depth < deepest, sd_bus_message_peek_type(message, &type, &contents) > 0 else { return nil }
        switch Character(UnicodeScalar(UInt8(bitPattern: type))) {
        case "s": return text(message, type).map { .string($0) }
        case "o", "g": return text(message, type).map { .objectPath($0) }
        case "u": return number(message, type, UInt32(0)).map { .unsigned($0) }
        case "i": return number(message, type, Int32(0)).map { .signed($0) }
        case "b": return number(message, type, Int32(0)).map { .flag($0 != 0) }
        case "h": return number(message, type, Int32(0)).map { .descriptor(BusDescriptor(copying: $0)) }
        case "v":
            return inside(message, type, contents, depth) { $0.first ?? .other }
        case "r":
            return inside(message, type, contents, depth) { .structure($0) }
        case "e":
            return inside(message, type, contents, depth) { .structure($0) }
        case "a":
            let isDictionary = contents.map { String(cString: $0) }?.hasPrefix("{s") ?? false
            return inside(message, type, contents, depth) { isDictionary ? .dictionary(entries($0)) : .array($0) }
        default:
            return sd_bus_message_skip(message, nil) > 0 ? .other : nil
        }
    }

    private static func entries(_ pairs: [BusValue]) -> [String: BusValue] {
        var entries: [String: BusValue] = [:]
        for pair in pairs {
            if let parts = pair.elements, parts.count == 2, let key = parts[0].text { entries[key] = parts[1] }
        }
        return entries
    }

    private static func inside(
        _ message: OpaquePointer,
        _ type: CChar,
        _ contents: UnsafePointer<CChar>?,
        _ depth: Int,
        _ make: ([BusValue]) -> BusValue
    ) -> BusValue? {
        guard sd_bus_message_enter_container(message, type, contents) > 0 else { return nil }
        let values = values(message, depth: depth + 1)
        guard sd_bus_message_exit_container(message) >= 0 else { return nil }
        return make(values)
    }

    private static func text(_ message: OpaquePointer, _ type: CChar) -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, type, &text) > 0 else { return nil }
        return text.map { String(cString: $0) }
    }

    private static func number<Number: BitwiseCopyable>(_ message: OpaquePointer, _ type: CChar, _ zero: Number)
        -> Number?
    {
        var number = zero
        return sd_bus_message_read_basic(message, type, &number) > 0 ? number : nil
    }

    /// Appends a value. A dictionary has values of any type (`a{sv}`).
    static func append(_ value: BusValue, to message: OpaquePointer) -> Int32 {
        switch value {
        case .string(let text): return sd_bus_message_append_basic(message, code("s"), text)
        case .objectPath(let text): return sd_bus_message_append_basic(message, code("o"), text)
        case .unsigned(var number): return sd_bus_message_append_basic(message, code("u"), &number)
        case .signed(var number): return sd_bus_message_append_basic(message, code("i"), &number)
        case .flag(let flag):
            var number: Int32 = flag ? 1 : 0
            return sd_bus_message_append_basic(message, code("b"), &number)
        case .dictionary(let entries): return append(entries, to: message)
        case .descriptor, .array, .structure, .other: return -EINVAL
        }
    }

    private static func append(_ entries: [String: BusValue], to message: OpaquePointer) -> Int32 {
        var status = sd_bus_message_open_container(message, code("a"), "{sv}")
        for (key, value) in entries where status >= 0 {
            status = sd_bus_message_open_container(message, code("e"), "sv")
            if status >= 0 { status = sd_bus_message_append_basic(message, code("s"), key) }
            if status >= 0 { status = sd_bus_message_open_container(message, code("v"), value.signature) }
            if status >= 0 { status = append(value, to: message) }
            if status >= 0 { status = sd_bus_message_close_container(message) }
            if status >= 0 { status = sd_bus_message_close_container(message) }
        }
        return status < 0 ? status : sd_bus_message_close_container(message)
    }

    private static func code(_ character: UnicodeScalar) -> CChar { CChar(truncatingIfNeeded: character.value) }
}

extension BusValue {
    /// The signature of a value that can be sent.
    fileprivate var signature: String {
        switch self {
        case .string: "s"
        case .objectPath: "o"
        case .unsigned: "u"
        case .signed: "i"
        case .flag: "b"
        case .dictionary: "a{sv}"
        case .descriptor, .array, .structure, .other: ""
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// The first message to a helper process.
struct Hello: WireStructure, Hashable, Sendable {
    static let blank = Hello(build: "")

    /// The build of the client, for people; compatibility depends on ``MessageHeader/version``.
    var build: String

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&build)
    }
}

/// The first message of a helper process.
struct Greeting: WireStructure, Hashable, Sendable {
    static let blank = Greeting(build: "")

    /// The build of the helper, for people.
    var build: String
    /// The missing parts of the helper's sandbox, as text for a log; empty if it is confined as designed.
    var limitations: [String] = []
    static let mostLimitations = 16

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&build)
        try visitor.list(&limitations, atMost: Self.mostLimitations)
    }
}

/// A log line of the helper.
struct LogLine: WireStructure, Hashable, Sendable {
    static let blank = LogLine(level: "", text: "")

    /// The name of a swift-log level, for example `warning`.
    var level: String
    /// The text, without trailing line feed.
    var text: String

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&level)
        try visitor.field(&text)
    }
}

/// The number of a device's descriptor in the helper. It names the device until it is closed.
struct DeviceNumber: WireStructure, Hashable, Sendable {
    static let blank = DeviceNumber(0)

    var number: Int32

    init(_ number: Int32) { self.number = number }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
    }
}

/// Messages from the client to a helper process, over the socket that the process was started with.
enum ControlOrder: Sendable {
    /// Answered by ``ControlNotice/hello(_:)``.
    case hello(Hello)
    /// The descriptor in the message is the far end of a new connection, for one encoder or decoder. No answer.
    case attach(ConnectionKind)
    /// No more connections will follow: the helper ends when its connections are closed. No answer.
    case close
}

extension ControlOrder: WireMessage {
    enum Kind: UInt16 {
        case hello = 129
        case attach
        case close
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .hello: .hello
            case .attach: .attach
            case .close: .close
            }
        return kind.rawValue
    }

    var descriptorCount: Int {
        switch self {
        case .attach: 1
        case .hello, .close: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .hello: self = .hello(try Hello(from: &reader))
        case .attach: self = .attach(try ConnectionKind(from: &reader))
        case .close: self = .close
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .hello(let hello): try hello.write(to: &writer)
        case .attach(let kind): try kind.write(to: &writer)
        case .close: break
        }
    }
}

/// Messages from a helper process to the client.
enum ControlNotice: Sendable {
    /// Answers ``ControlOrder/hello(_:)``.
    case hello(Greeting)
    /// A log line.
    case log(LogLine)
    /// The descriptor in the message is a copy of that of a device that the helper has opened.
    case device(DeviceNumber)
    /// The helper closes a device.
    case deviceClosed(DeviceNumber)
}

extension ControlNotice: WireMessage {
    enum Kind: UInt16 {
        case hello = 193
        case log
        case device
        case deviceClosed
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .hello: .hello
            case .log: .log
            case .device: .device
            case .deviceClosed: .deviceClosed
            }
        return kind.rawValue
    }

    var descriptorCount: Int {
        switch self {
        case .device: 1
        case .hello, .log, .deviceClosed: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .hello: self = .hello(try Greeting(from: &reader))
        case .log: self = .log(try LogLine(from: &reader))
        case .device: self = .device(try DeviceNumber(from: &reader))
        case .deviceClosed: self = .deviceClosed(try DeviceNumber(from: &reader))
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    /// Texts for people are truncated if they are too long.
    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .hello(let greeting):
            let limitations = greeting.limitations.prefix(Greeting.mostLimitations).map(\.fittingWire)
            try Greeting(build: greeting.build, limitations: limitations).write(to: &writer)
        case .log(let line): try LogLine(level: line.level, text: line.text.fittingWire).write(to: &writer)
        case .device(let number), .deviceClosed(let number): try number.write(to: &writer)
        }
    }
}

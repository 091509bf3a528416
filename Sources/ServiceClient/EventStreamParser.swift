// SPDX-License-Identifier: GPL-2.0-or-later

/// An event of a stream of `text/event-stream`.
struct ServerSentEvent: Sendable, Hashable {
    /// The last ID of the stream up to this event.
    var id: String?
    /// The type; `message` if none was given.
    var type = "message"
    var data = ""
}

/// Reads a stream of server-sent events (HTML Living Standard, section 9.2), whatever its pieces are.
struct EventStreamParser: Sendable {
    /// The most bytes of a line and of the data of an event. More is not an event of the service.
    static let limit = 1 << 20

    /// The ID of the last event that was complete, with which a client continues after its connection broke.
    private(set) var lastID: String?
    /// Whether a line or an event was longer than ``limit``; what follows is ignored.
    private(set) var isTooLong = false

    /// The ID of the event that is being read.
    private var id: String?
    private var line: [UInt8] = []
    private var lastWasCR = false
    private var isFirstLine = true
    private var type = ""
    private var data: [UInt8] = []
    private var hasData = false

    init(lastID: String? = nil) {
        self.lastID = lastID
        id = lastID
    }

    /// Reads the next piece, and returns the events that end in it.
    mutating func feed(_ bytes: some Sequence<UInt8>) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes where !isTooLong {
            switch byte {
            case UInt8(ascii: "\n") where lastWasCR:
                lastWasCR = false
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                lastWasCR = byte == UInt8(ascii: "\r")
                if let event = endLine() { events.append(event) }
            default:
                lastWasCR = false
                line.append(byte)
                if line.count + data.count > Self.limit { isTooLong = true }
            }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        var line = line[...]
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        }
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": type = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            data += value
            hasData = true
        case "id" where !value.contains(0): id = String(decoding: value, as: UTF8.self)
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastID = id
        defer {
            type = ""
            data.removeAll(keepingCapacity: true)
            hasData = false
        }
        guard hasData else { return nil }
        return ServerSentEvent(
            id: lastID,
            type: type.isEmpty ? "message" : type,
            data: String(decoding: data, as: UTF8.self)
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// The information of `onStatus`, `_error` and `_result`, as a server states it.
struct RTMPStatus: Sendable, Hashable {
    static let publishStart = "NetStream.Publish.Start"
    /// Enhanced RTMP: the client shall connect anew, perhaps to another address.
    static let reconnectRequest = "NetConnection.Connect.ReconnectRequest"

    /// For example `NetStream.Publish.BadName`; empty if there is none.
    let code: String
    /// The server's text.
    let description: String?
    /// The address to which a server that refuses a connection sends its clients.
    let redirect: String?
    /// The address of `ReconnectRequest`.
    let newAddress: String?
    private let level: String?

    /// - Parameter values: What follows the transaction of a command; the last object is the information.
    init(_ values: [AMF0Value]) {
        let information = values.last { $0["code"] != nil || $0["level"] != nil || $0["description"] != nil }
        func text(_ name: String) -> String? {
            information?[name]?.text.flatMap { $0.isEmpty ? nil : $0 }
        }
        code = text("code") ?? ""
        description = text("description") ?? text("details") ?? values.lazy.compactMap(\.text).first
        level = text("level")
        newAddress = text("tcUrl")
        redirect = information?["ex"]?["redirect"]?.text ?? text("redirect")
    }

    /// Whether the server reports a failure.
    var isError: Bool { level == "error" || Self.failures.contains(code) }

    /// Whether a stream that was accepted is over.
    var endsStream: Bool { Self.ends.contains(code) }

    /// The server's text and code.
    var reason: String {
        switch (description, code) {
        case (let text?, ""): text
        case (let text?, let code): "\(text) (\(code))"
        case (nil, ""): "without a reason"
        case (nil, let code): code
        }
    }

    /// Whether another attempt would be refused as well. A name that is in use is free when the earlier connection has
    /// ended.
    var isPermanent: Bool { Self.permanentFailures.contains(code) }

    private static let permanentFailures: Set = [
        "NetConnection.Connect.Rejected", "NetConnection.Connect.InvalidApp", "NetStream.Publish.Denied",
    ]
    private static let failures: Set = permanentFailures.union([
        "NetConnection.Connect.Failed", "NetConnection.Connect.AppShutdown", "NetStream.Publish.BadName",
        "NetStream.Publish.Failed", "NetStream.Failed",
    ])
    private static let ends: Set = [
        "NetConnection.Connect.Closed", "NetConnection.Connect.AppShutdown", "NetStream.Unpublish.Success",
    ]
}

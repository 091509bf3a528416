// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Talks to one interface of the desktop portal. Used by one thread.
///
/// Requests answer later with a signal of a request object (`org.freedesktop.portal.Request`). All such signals of the
/// portal are subscribed to before the first request, so that an early answer is not lost, whatever the path of the
/// object.
final class PortalClient {
    /// The name of the portal on the bus.
    static let service = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let requestInterface = "org.freedesktop.portal.Request"
    private static let sessionInterface = "org.freedesktop.portal.Session"

    /// How long the portal may take for a plain answer, in milliseconds. It may have to start first.
    static let answerLimit: Int64 = 30_000

    let bus: SessionBus
    private let interface: String
    private let stop: StopSignal
    private let answerLimit: Int64

    /// Connects to the bus.
    ///
    /// - Parameter interface: The interface, such as `org.freedesktop.portal.ScreenCast`.
    /// - Throws: The errors of ``PortalFailure``.
    init(_ interface: String, bus address: String?, answerLimit: Int64, stop: StopSignal) throws(MediaError) {
        bus = try SessionBus(address: address)
        (self.interface, self.stop, self.answerLimit) = (interface, stop, answerLimit)
        let portal = "type='signal',sender='\(Self.service)',interface="
        try bus.subscribe("\(portal)'\(Self.requestInterface)',member='Response'", limit: answerLimit, stop)
        try bus.subscribe("\(portal)'\(Self.sessionInterface)',member='Closed'", limit: answerLimit, stop)
        try bus.subscribe(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg0='\(Self.service)'",
            limit: answerLimit,
            stop
        )
    }

    /// The properties of the interface.
    ///
    /// - Throws: `unsupported` if the portal has no such interface, because no backend implements it.
    func properties() throws(MediaError) -> [String: BusValue] {
        let values = try call(
            "org.freedesktop.DBus.Properties",
            "GetAll",
            [.string(interface)]
        )
        return values.first?.entries ?? [:]
    }

    /// Calls a method that answers at once.
    func call(_ member: String, _ arguments: [BusValue]) throws(MediaError) -> [BusValue] {
        try call(interface, member, arguments)
    }

    private func call(_ interface: String, _ member: String, _ arguments: [BusValue]) throws(MediaError) -> [BusValue] {
        let call = SessionBus.Call(
            destination: Self.service,
            path: Self.path,
            interface: interface,
            member: member,
            arguments: arguments
        )
        switch try bus.call(call, limit: answerLimit, stop) {
        case .values(let values): return values
        case .error(let name, let message): throw PortalFailure.refused(member, name, message)
        }
    }

    /// Calls a method that asks the user or a backend, and waits for its results.
    ///
    /// - Parameters:
    ///   - arguments: Those before the options.
    ///   - options: The options, without `handle_token`.
    ///   - session: The path of the session, whose end also ends the wait.
    ///   - limit: The longest wait for the results, in milliseconds.
    /// - Throws: `cancelled` for a refusal, and after the stop signal; `deadlineExceeded` without an answer.
    func request(
        _ member: String,
        _ arguments: [BusValue],
        options: [String: BusValue],
        session: String? = nil,
        limit: Int64
    ) throws(MediaError) -> [String: BusValue] {
        var options = options
        options["handle_token"] = .string(Self.token)
        let values = try call(member, arguments + [.dictionary(options)])
        guard let handle = values.first?.text else { throw PortalFailure.malformed(member, "no request") }
        let end = MonotonicClock.now.value + limit * 1_000_000
        while true {
            try check(session: session)
            let response = bus.takeSignal {
                $0.interface == Self.requestInterface && $0.member == "Response" && $0.path == handle
            }
            if let response {
                guard let code = response.values.first?.number else {
                    throw PortalFailure.malformed(member, "no response code")
                }
                guard code == 0 else { throw PortalFailure.response(code, member) }
                return response.values.dropFirst().first?.entries ?? [:]
            }
            guard try bus.wait(stop, until: end) else { throw PortalFailure.noAnswer(Double(limit) / 1000) }
        }
    }

    /// Throws if the portal, or the session of the path, has ended.
    func check(session: String?) throws(MediaError) {
        try bus.process()
        if let session {
            let closed = bus.takeSignal {
                $0.interface == Self.sessionInterface && $0.member == "Closed" && $0.path == session
            }
            if closed != nil { throw PortalFailure.closed }
        }
        let ownerChange = bus.takeSignal { $0.member == "NameOwnerChanged" }
        // The old and the new owner; a portal that starts had none before.
        guard let ownerChange, ownerChange.values.count == 3, ownerChange.values[1].text?.isEmpty == false else {
            return
        }
        throw PortalFailure.portalGone
    }

    /// A word for the path of a request or session, which other programs do not guess.
    static var token: String { "vatoolbox_\(UInt64.random(in: 0...(.max)))" }
}

/// A session of the desktop portal that allows a capture, as long as it exists.
final class PortalSession {
    private let client: PortalClient
    private let path: String?
    private let onEnd: (MediaError) -> Void

    /// - Parameters:
    ///   - path: The object of the session; `nil` for a permission without one.
    ///   - onEnd: Called with the reason when the session has ended.
    init(_ client: PortalClient, path: String?, onEnd: @escaping (MediaError) -> Void = { _ in }) {
        (self.client, self.path, self.onEnd) = (client, path, onEnd)
    }

    /// What to wait for, beside the pictures.
    var descriptor: (descriptor: Int32, events: Int16) { client.bus.descriptor }

    /// Throws `cancelled` if the session was ended, and `unavailable` if the portal or the bus has ended.
    func check() throws(MediaError) {
        do throws(MediaError) {
            try client.check(session: path)
        } catch {
            onEnd(error)
            throw error
        }
    }
}

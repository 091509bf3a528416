// SPDX-License-Identifier: GPL-2.0-or-later

internal import CGnuTLS
internal import Glibc
internal import MediaTypes

/// Bytes over TLS 1.2 or 1.3, by GnuTLS, to a server whose certificate was verified.
final class TLSStream: ByteStream {
    let socket: Socket
    private let session: gnutls_session_t
    private let credentials: gnutls_certificate_credentials_t
    /// Whether a record waits in GnuTLS, whose bytes count as not written.
    private var hasPendingRecord = false

    /// Shakes hands with a server.
    ///
    /// - Parameters:
    ///   - host: The name that the certificate must state, or its address; a name is also sent to the server (SNI).
    ///   - authorities: A file in PEM with the certificates to trust instead of those of the system.
    /// - Throws: `cancelled` after the stop signal; `deadlineExceeded` at the deadline; `inputOutput` if there is no
    ///   agreement, permanent if the certificate is not trusted; `invalidArgument` for a file without certificates.
    init(
        _ socket: Socket,
        host: String,
        authorities: String?,
        stop: StopSignal,
        deadline: Deadline
    ) throws(MediaError) {
        self.socket = socket
        (session, credentials) = try Self.makeSession()
        if let authorities {
            try Self.trust(authorities, credentials)
        } else {
            gnutls_certificate_set_x509_system_trust(credentials)
        }
        try Self.check(gnutls_priority_set_direct(session, Self.priorities, nil), "gnutls_priority_set_direct")
        try Self.check(
            gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials)),
            "gnutls_credentials_set"
        )
        gnutls_transport_set_int2(session, socket.descriptor, socket.descriptor)
        // RFC 6066, 3: an address must not be sent.
        if HostResolver.address(host, port: 0) == nil {
            let status = gnutls_server_name_set(session, GNUTLS_NAME_DNS, host, host.utf8.count)
            try Self.check(status, "gnutls_server_name_set")
        }
        try shakeHands(with: host, stop: stop, deadline: deadline)
        try verifyCertificate(of: host)
    }

    deinit {
        gnutls_deinit(session)
        gnutls_certificate_free_credentials(credentials)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) -> Transfer {
        while true {
            // A record that was made is sent by a call without bytes, which returns how many of them it carries.
            let piece = hasPendingRecord ? nil : bytes.baseAddress
            let count = gnutls_record_send(session, piece, hasPendingRecord ? 0 : bytes.count)
            switch Int32(clamping: count) {
            case 1...:
                hasPendingRecord = false
                return .bytes(count)
            case 0: return .ended
            case GNUTLS_E_AGAIN:
                hasPendingRecord = true
                return .waits(for: direction)
            case GNUTLS_E_INTERRUPTED: hasPendingRecord = true
            case let status: throw failure(status, "gnutls_record_send")
            }
        }
    }

    func read(into memory: UnsafeMutableRawBufferPointer) throws(MediaError) -> Transfer {
        while true {
            let count = gnutls_record_recv(session, memory.baseAddress, memory.count)
            switch Int32(clamping: count) {
            case 1...: return .bytes(count)
            case 0, GNUTLS_E_PREMATURE_TERMINATION: return .ended
            case GNUTLS_E_AGAIN: return .waits(for: direction)
            case GNUTLS_E_INTERRUPTED, GNUTLS_E_WARNING_ALERT_RECEIVED, GNUTLS_E_REHANDSHAKE: continue
            case let status: throw failure(status, "gnutls_record_recv")
            }
        }
    }

    func endWriting() {
        gnutls_bye(session, GNUTLS_SHUT_WR)
        shutdown(socket.descriptor, Int32(SHUT_WR))
    }

    /// The event for which the last call waits.
    private var direction: Int16 { Int16(gnutls_record_get_direction(session) == 0 ? POLLIN : POLLOUT) }
}

// MARK: - Setup

extension TLSStream {
    private static let priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

    private static func makeSession() throws(MediaError) -> (
        gnutls_session_t, gnutls_certificate_credentials_t
    ) {
        var credentials: gnutls_certificate_credentials_t?
        var status = gnutls_certificate_allocate_credentials(&credentials)
        guard status == GNUTLS_E_SUCCESS, let credentials else {
            throw outOfMemory("gnutls_certificate_allocate_credentials", status)
        }
        var session: gnutls_session_t?
        status = gnutls_init(&session, UInt32(GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL))
        guard status == GNUTLS_E_SUCCESS, let session else {
            gnutls_certificate_free_credentials(credentials)
            throw outOfMemory("gnutls_init", status)
        }
        return (session, credentials)
    }

    private static func outOfMemory(_ call: String, _ status: Int32) -> MediaError {
        MediaError(.outOfMemory, "no TLS session can be made", call: call, status: Int(status))
    }

    private static func trust(
        _ file: String,
        _ credentials: gnutls_certificate_credentials_t
    ) throws(MediaError) {
        let count = gnutls_certificate_set_x509_trust_file(credentials, file, GNUTLS_X509_FMT_PEM)
        guard count <= 0 else { return }
        let reason = count < 0 ? ": \(text(of: count))" : ""
        throw MediaError(
            .invalidArgument,
            "the file has no certificates of authorities\(reason)",
            given: file,
            allowed: "certificates in PEM",
            call: "gnutls_certificate_set_x509_trust_file",
            status: Int(count)
        )
    }

    private static func check(_ status: Int32, _ call: String) throws(MediaError) {
        guard status != GNUTLS_E_SUCCESS else { return }
        throw MediaError(
            .inputOutput,
            "TLS cannot be set up: \(text(of: status))",
            call: call,
            status: Int(status)
        )
    }

    private static func text(of status: Int32) -> String {
        gnutls_strerror(status).map { String(cString: $0) } ?? "unknown error"
    }
}

// MARK: - Handshake

extension TLSStream {
    private func shakeHands(with host: String, stop: StopSignal, deadline: Deadline) throws(MediaError) {
        while true {
            let status = gnutls_handshake(session)
            switch status {
            case GNUTLS_E_SUCCESS: return
            case GNUTLS_E_AGAIN, GNUTLS_E_INTERRUPTED:
                try stop.wait(for: [(socket.descriptor, direction)], until: deadline.remaining)
            case _ where gnutls_error_is_fatal(status) == 0: break
            default: throw failure(status, "gnutls_handshake", host)
            }
            guard !deadline.isOver else {
                throw MediaError(
                    .deadlineExceeded,
                    "the TLS handshake did not end within \(deadline.text)",
                    given: host
                )
            }
        }
    }

    private func verifyCertificate(of host: String) throws(MediaError) {
        var problems: UInt32 = 0
        let status = gnutls_certificate_verify_peers3(session, host, &problems)
        guard status != GNUTLS_E_SUCCESS || problems != 0 else { return }
        var reason = Self.text(of: status)
        var text = gnutls_datum_t()
        let kind = gnutls_certificate_type_get(session)
        if status == GNUTLS_E_SUCCESS,
            gnutls_certificate_verification_status_print(problems, kind, &text, 0) == GNUTLS_E_SUCCESS
        {
            reason = String(decoding: UnsafeBufferPointer(start: text.data, count: Int(text.size)), as: UTF8.self)
            free(text.data)
        }
        throw MediaError(
            .inputOutput,
            "the certificate of the server is not trusted: \(Self.sentence(reason))",
            given: host,
            call: "gnutls_certificate_verify_peers3",
            isPermanent: true,
            remedies: problems & GNUTLS_CERT_UNEXPECTED_OWNER.rawValue != 0
                ? ["use the host name for which the certificate was issued"]
                : ["name a file with the authority that issued the certificate, if it is a private one"]
        )
    }

    /// Returns one line without a full stop.
    private static func sentence(_ text: String) -> String {
        var line = Readable.oneLine(text)
        while line.last == " " || line.last == "." || line.last == "\0" { line.removeLast() }
        return line
    }

    private func failure(_ status: Int32, _ call: String, _ host: String? = nil) -> MediaError {
        var reason = Self.text(of: status)
        if status == GNUTLS_E_FATAL_ALERT_RECEIVED, let name = gnutls_alert_get_name(gnutls_alert_get(session)) {
            reason = "the server sent the alert \"\(String(cString: name))\""
        }
        let subject = call == "gnutls_handshake" ? "the TLS handshake failed" : "the connection is lost"
        return MediaError(
            .inputOutput,
            "\(subject): \(Self.sentence(reason))",
            given: host,
            call: call,
            status: Int(status)
        )
    }
}

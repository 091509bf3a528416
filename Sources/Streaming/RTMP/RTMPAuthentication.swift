// SPDX-License-Identifier: GPL-2.0-or-later

internal import CGnuTLS
internal import MediaTypes

/// The authentication that servers for publishers ask for by refusing a connection, `authmod=adobe`: the next
/// connection states the user, and the one after it the answer to the server's challenge.
///
/// There is no specification; the steps are those of librtmp and FFmpeg.
enum RTMPAuthentication {
    /// What to append to the application for the next connection; there are at most two.
    ///
    /// - Parameters:
    ///   - refusal: The server's text.
    ///   - query: What was appended for the connection that was refused; empty for the first one.
    ///   - challenge: The client's challenge, a random number.
    /// - Returns: `nil` if the server asks for no authentication.
    /// - Throws: `unavailable` if the address has no user, the user or the password is wrong, or the server asks for
    ///   another kind of authentication.
    static func query(
        after refusal: String,
        of query: String,
        for address: RTMPAddress,
        challenge: UInt32
    ) throws(MediaError) -> String? {
        guard refusal.contains("authmod=") else { return nil }
        guard refusal.contains("authmod=adobe") else {
            throw failure("the RTMP server asks for an authentication that is not supported", address)
        }
        guard let user = address.user, let password = address.password else {
            throw failure("the RTMP server asks for a user and a password, which the address lacks", address)
        }
        guard user.utf8.allSatisfy(isPlain) else {
            throw failure("the name of the user has characters that the authentication of RTMP cannot carry", address)
        }
        let start = "?authmod=adobe&user=\(user)"
        let fields = fields(of: refusal)
        switch (fields["reason"], query) {
        case (nil, ""): return start
        case ("needauth", start):
            let challenge = String(challenge, radix: 16)
            let secret = try digest(user + (fields["salt"] ?? "") + password)
            let answer = try digest(secret + (fields["opaque"] ?? fields["challenge"] ?? "") + challenge)
            let opaque = fields["opaque"].map { "&opaque=\($0)" } ?? ""
            return "\(start)&challenge=\(challenge)&response=\(answer)\(opaque)"
        default: throw failure("the RTMP server does not accept the user or the password", address)
        }
    }

    /// The fields behind the question mark of a text such as `... ?reason=needauth&user=...&salt=...`.
    private static func fields(of text: String) -> [String: String] {
        guard let mark = text.firstIndex(of: "?") else { return [:] }
        var fields: [String: String] = [:]
        for field in text[text.index(after: mark)...].prefix(while: { $0 != " " }).split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[1].isEmpty { fields[String(parts[0])] = String(parts[1]) }
        }
        return fields
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "&") }

    private static func failure(_ message: String, _ address: RTMPAddress) -> MediaError {
        MediaError(.unavailable, message, given: address.description)
    }

    /// The MD5 of a text in Base64.
    private static func digest(_ text: String) throws(MediaError) -> String {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: 16)
        let status = gnutls_hash_fast(GNUTLS_DIG_MD5, bytes, bytes.count, &digest)
        guard status == GNUTLS_E_SUCCESS else {
            throw MediaError(
                .unavailable,
                "the authentication of RTMP needs MD5, which this system does not allow",
                call: "gnutls_hash_fast",
                status: Int(status)
            )
        }
        return base64(digest)
    }

    /// RFC 4648, 4.
    private static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let piece = bytes[start...].prefix(3)
            let bits = piece.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - piece.count))
            for index in 0...piece.count { text.append(alphabet[bits >> (18 - 6 * index) & 63]) }
            text += String(repeating: "=", count: 3 - piece.count)
        }
        return text
    }
}

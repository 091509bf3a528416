// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import FoundationEssentials
internal import HostSystem

/// The secret with which reports are signed, and the one before it.
///
/// Signatures are those of Standard Webhooks 1.0: HMAC-SHA256 of `ID.TIMESTAMP.BODY`. For a while after a rotation, a report
/// has the signatures of both secrets.
actor WebhookSecrets {
    private struct Record: Codable {
        var secret: String
        var former: String?
        /// Seconds since 1970.
        var formerUntil: Double?
    }

    private let path: String
    private var record: Record

    /// Reads the secret, or makes it.
    init(path: String) throws {
        self.path = path
        if let bytes = try Files.read(path) {
            record = try JSONDecoder().decode(Record.self, from: Data(bytes))
        } else {
            record = Record(secret: Self.make())
            try Files.replace(path, with: Array(try JSONEncoder().encode(record)))
        }
    }

    /// The present secret, as `whsec_` and its bytes in Base64, and until when the one before is used, too.
    var present: (secret: String, formerUntil: Double?) { (record.secret, record.formerUntil) }

    /// Makes a new secret. The one before signs as well for some time.
    func rotate(grace: Double) throws {
        let new = Record(secret: Self.make(), former: record.secret, formerUntil: Clock.now + grace)
        try Files.replace(path, with: Array(try JSONEncoder().encode(new)))
        record = new
    }

    /// The header `webhook-signature` of a report.
    func signature(id: String, timestamp: Int, body: [UInt8]) -> String {
        var secrets = [record.secret]
        if let former = record.former, let until = record.formerUntil, Clock.now < until { secrets.append(former) }
        return secrets.map { Self.signature(secret: $0, id: id, timestamp: timestamp, body: body) }.joined(
            separator: " "
        )
    }

    static func signature(secret: String, id: String, timestamp: Int, body: [UInt8]) -> String {
        let key = SymmetricKey(data: Base64.bytes(String(secret.dropFirst(prefix.count))) ?? [])
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(id).\(timestamp).".utf8) + body, using: key)
        return "v1,\(Base64.text(Array(code)))"
    }

    private static let prefix = "whsec_"

    private static func make() -> String {
        prefix + SymmetricKey(size: .bits256).withUnsafeBytes { Base64.text(Array($0)) }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import FoundationEssentials
internal import HostSystem
internal import ServiceAPI

/// The keys of clients. Of a secret, only a digest is kept.
///
/// A key is written `vtk_ID_SECRET`. The ID finds the record; the digest of the secret is compared in constant time.
actor KeyStore {
    private let path: String
    /// Whether there is a token besides the keys, whose owner can manage keys.
    private let hasToken: Bool
    private var records: [String: KeyRecord] = [:]
    private var isUseUnsaved = false

    /// Reads the keys.
    ///
    /// - Parameter hasToken: Whether there is a token besides the keys, so that the keys cannot lock all out.
    init(path: String, hasToken: Bool = false) throws {
        self.path = path
        self.hasToken = hasToken
        guard let bytes = try Files.read(path) else { return }
        for record in try JSONDecoder().decode([KeyRecord].self, from: Data(bytes)) { records[record.id] = record }
    }

    /// Whether there are keys: then every request needs one.
    var isEmpty: Bool { records.isEmpty }

    /// The keys, the newest first.
    func list() -> [Key] { records.values.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }.map(\.key) }

    /// Makes a key.
    ///
    /// - Returns: The key with its secret, which nobody can read again.
    /// - Throws: `APIError` `invalid-state` if the first key is no key of an administrator, which would lock all out.
    func create(_ request: KeyRequest) throws -> NewKey {
        guard hasToken || !records.isEmpty || request.scopes.contains(.admin) else {
            throw APIError(
                .invalidState,
                "The first key needs the scope admin: from then on, every request needs a key",
                field: "/scopes",
                value: request.scopes.json,
                allowed: "admin"
            )
        }
        let now = Clock.now
        let secret = Self.secret()
        let record = KeyRecord(
            id: Identifier.make(at: now),
            name: request.name,
            scopes: request.scopes.map(\.rawValue),
            createdAt: now,
            expiresAt: request.expiresIn.map { now + $0 },
            digest: Digest.sha256(secret.utf8)
        )
        try save(with: record)
        return created(record, secret)
    }

    /// Replaces the secret of a key. The one before is valid until the time of grace is over.
    ///
    /// - Throws: `APIError` `not-found`.
    func rotate(_ id: String, grace: Double = 0) throws -> NewKey {
        guard var record = records[id] else { throw Self.missing(id) }
        let secret = Self.secret()
        record.formerDigest = record.digest
        record.formerUntil = Clock.now + grace
        record.digest = Digest.sha256(secret.utf8)
        try save(with: record)
        return created(record, secret)
    }

    /// Revokes a key.
    ///
    /// - Throws: `APIError` `not-found`; `invalid-state` for the last key of an administrator among others.
    func delete(_ id: String) throws {
        guard records[id] != nil else { throw Self.missing(id) }
        let rest = records.values.filter { $0.id != id }
        let hasAdministrator = rest.contains { $0.scopes.contains(Scope.admin.rawValue) && !$0.isExpired }
        guard hasToken || rest.isEmpty || hasAdministrator else {
            throw APIError(
                .invalidState,
                "No other key could manage keys",
                value: .string(id),
                remedies: ["Make another key with the scope admin first, or delete the other keys first."]
            )
        }
        try save(rest)
        records[id] = nil
    }

    /// Returns the client that has a key; `nil` if the key is not valid now.
    func client(withKey text: String) -> Client? {
        let parts = text.split(separator: "_", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == "vtk", var record = records[parts[1]] else { return nil }
        let now = Clock.now
        let given = SHA256.hash(data: Array(parts[2].utf8))
        var isRight = Self.isEqual(given, record.digest)
        if let former = record.formerDigest, let until = record.formerUntil, now < until {
            isRight = Self.isEqual(given, former) || isRight
        }
        guard isRight, !record.isExpired else { return nil }
        if now - (record.lastUsedAt ?? 0) > 1 {
            record.lastUsedAt = now
            records[record.id] = record
            isUseUnsaved = true
        }
        return Client(name: record.id, scopes: Set(record.scopes.compactMap(Scope.init(rawValue:))))
    }

    /// Writes when keys were last used. Called now and then.
    func saveUse() throws {
        guard isUseUnsaved else { return }
        try save(Array(records.values))
    }

    /// First the file: a key that cannot be kept must not be valid, and one that is revoked must not come back.
    private func save(with record: KeyRecord) throws {
        try save(records.values.filter { $0.id != record.id } + [record])
        records[record.id] = record
    }

    private func save(_ records: [KeyRecord]) throws {
        let all = records.sorted { $0.id < $1.id }
        try Files.replace(path, with: Array(try JSONEncoder().encode(all)))
        isUseUnsaved = false
    }

    private func created(_ record: KeyRecord, _ secret: String) -> NewKey {
        NewKey {
            $0.key = record.key
            $0.secret = "vtk_\(record.id)_\(secret)"
        }
    }

    private static func secret() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { Digest.text($0) }
    }

    /// In constant time: `SHA256.Digest` compares so.
    private static func isEqual(_ given: SHA256.Digest, _ known: String) -> Bool {
        Digest.bytes(known).map { given == $0 } ?? false
    }

    private static func missing(_ id: String) -> APIError {
        APIError(.notFound, "There is no such key", field: "id", value: .string(id))
    }
}

/// A key as it is kept.
private struct KeyRecord: Codable {
    var id: String
    var name: String
    var scopes: [String]
    /// Seconds since 1970.
    var createdAt: Double
    var expiresAt: Double?
    var lastUsedAt: Double?
    /// The SHA-256 of the secret, which has 256 random bits: a slow digest would protect nothing more.
    var digest: String
    /// That of the secret before, which is valid until a time.
    var formerDigest: String?
    var formerUntil: Double?

    var isExpired: Bool { expiresAt.map { $0 < Clock.now } ?? false }

    var key: Key {
        Key {
            $0.id = id
            $0.name = name
            $0.scopes = scopes.compactMap(Scope.init(rawValue:))
            $0.createdAt = Timestamp(seconds: createdAt)
            $0.expiresAt = expiresAt.map(Timestamp.init(seconds:))
            $0.lastUsedAt = lastUsedAt.map(Timestamp.init(seconds:))
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// What a key permits.
public enum Scope: String, APIEnum {
    /// Reads jobs, results and the state of the node.
    case readJobs = "jobs:read"
    /// Submits and changes jobs.
    case writeJobs = "jobs:write"
    /// Uploads files.
    case writeUploads = "uploads:write"
    /// Encodes streams by `/v1/encode`.
    case encode
    /// Everything.
    case admin
}

/// A key to make.
public struct KeyRequest: APIObject {
    /// Name for people.
    public var name = ""
    /// What it permits; admin is everything.
    public var scopes: [Scope] = []
    /// Seconds until it expires; never by default.
    public var expiresIn: Double?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A key to make"
    package static let fields: Fields<Self> = [
        .required("name", \.name, in: .line(1...200), "Name for people"),
        .required("scopes", \.scopes, in: .list(1...Scope.allCases.count), "What it permits; admin is everything"),
        .optional("expiresIn", \.expiresIn, in: .range(60...315_360_000), "Seconds until it expires; never by default"),
    ]

    package func validate() throws(APIError) {
        guard Set(scopes).count == scopes.count else {
            throw Self.rejection("scopes", "A scope occurs twice", value: scopes.json, allowed: "different scopes")
        }
    }
}

/// A key, without its secret.
public struct Key: APIObject {
    /// ID.
    public var id = ""
    /// Name for people.
    public var name = ""
    /// What it permits.
    public var scopes: [Scope] = []
    /// When it was made.
    public var createdAt = Timestamp()
    /// When it expires.
    public var expiresAt: Timestamp?
    /// When it was used last.
    public var lastUsedAt: Timestamp?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A key, without its secret"
    package static let fields: Fields<Self> = [
        .required("id", \.id, "ID"),
        .required("name", \.name, "Name for people"),
        .required("scopes", \.scopes, "What it permits"),
        .required("createdAt", \.createdAt, "When it was made"),
        .optional("expiresAt", \.expiresAt, "When it expires"),
        .optional("lastUsedAt", \.lastUsedAt, "When it was used last"),
    ]
}

/// A key with its secret, which no other answer contains.
public struct NewKey: APIObject {
    package var key = Key()
    /// What clients send: `Authorization: Bearer SECRET`.
    public var secret = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A key with its secret, which no other answer contains"
    package static let fields: Fields<Self> = .joined(
        Key.fields.inlined(at: \.key),
        [.required("secret", \.secret, "What clients send: `Authorization: Bearer SECRET`")]
    )
}

/// Keys.
public struct KeyList: APIObject {
    /// The keys, the newest first.
    public var keys: [Key] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Keys"
    package static let fields: Fields<Self> = [.required("keys", \.keys, "The keys, the newest first")]
}

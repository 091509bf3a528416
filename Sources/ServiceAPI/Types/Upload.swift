// SPDX-License-Identifier: GPL-2.0-or-later

/// A file that was or is being uploaded.
public struct Upload: APIObject {
    /// ID.
    public var id = ""
    /// Name.
    public var name = ""
    /// Size in bytes, once it is known.
    public var size: Int?
    /// Bytes received.
    public var received = 0
    /// Whether all bytes were received.
    public var complete = false
    /// SHA-256 in hexadecimal, once it is complete.
    public var sha256: String?
    /// When it began.
    public var createdAt = Timestamp()
    /// When it will be deleted.
    public var expiresAt = Timestamp()

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A file that was or is being uploaded"
    package static let fields: Fields<Self> = [
        .required("id", \.id, in: .text(26...26, .identifier), "ID"),
        .required("name", \.name, "Name"),
        .optional("size", \.size, in: .count, "Size in bytes, once it is known"),
        .required("received", \.received, in: .count, "Bytes received"),
        .required("complete", \.complete, "Whether all bytes were received"),
        .optional("sha256", \.sha256, "SHA-256 in hexadecimal, once it is complete"),
        .required("createdAt", \.createdAt, "When it began"),
        .required("expiresAt", \.expiresAt, "When it will be deleted"),
    ]
}

/// Uploads.
public struct UploadList: APIObject {
    /// The uploads, the newest first.
    public var uploads: [Upload] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Uploads"
    package static let fields: Fields<Self> = [.required("uploads", \.uploads, "The uploads, the newest first")]
}

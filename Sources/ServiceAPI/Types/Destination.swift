// SPDX-License-Identifier: GPL-2.0-or-later

/// A file in a store of the S3 protocol.
public struct S3Object: APIObject {
    /// Bucket.
    public var bucket = ""
    /// Key.
    public var key = ""
    /// The operator's name of the store; by default `default`, or the only one.
    public var store: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A file in a store of the S3 protocol"
    package static let fields: Fields<Self> = [
        .required("bucket", \.bucket, in: .text(3...63, .bucket), "Bucket"),
        .required("key", \.key, in: .text(1...1024, .resultPath), "Key"),
        .optional("store", \.store, in: .text(1...64, .name), S3Folder.storeText),
    ]

    /// For example `s3://bucket/key`.
    public var text: String { "s3://\(bucket)/\(key)" }
}

/// A part of a bucket, to which results are delivered.
public struct S3Folder: APIObject {
    /// Bucket.
    public var bucket = ""
    /// What comes before the paths of results, without the slash between them; empty for nothing.
    public var prefix: String?
    /// The operator's name of the store; by default `default`, or the only one.
    public var store: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    static let storeText = "The operator's name of the store; by default default, or the only one"

    package static let summary = "A part of a bucket, to which results are delivered"
    package static let fields: Fields<Self> = [
        .required("bucket", \.bucket, in: .text(3...63, .bucket), "Bucket"),
        .optional(
            "prefix",
            \.prefix,
            in: .text(1...900, .resultPath),
            "What comes before the paths of results, without the slash between them"
        ),
        .optional("store", \.store, in: .text(1...64, .name), storeText),
    ]

    /// The key of a result.
    package func key(of path: String) -> String { prefix.map { "\($0)/\(path)" } ?? path }
}

/// Where the service copies results to, once all of them are published: exactly one of `path` and `s3`.
public struct Destination: APIObject {
    /// ROOT/folder, below a media root that is writable.
    public var path: String?
    /// A part of a bucket.
    public var s3: S3Folder?
    /// Whether other files of the same names are replaced.
    public var overwrite = false

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary =
        "Where results are copied to, once all of them are published: exactly one of path and s3"
    package static let fields: Fields<Self> = [
        .optional("path", \.path, in: .text(3...4096, .mediaPath), "ROOT/folder, below a media root that is writable"),
        .optional("s3", \.s3, "A part of a bucket"),
        .defaulted("overwrite", \.overwrite, "Whether other files of the same names are replaced"),
    ]
    package static let furtherSchema: JSONObject = ["oneOf": [["required": ["path"]], ["required": ["s3"]]]]

    /// For example `s3://bucket/prefix`, or `films/done`.
    public var text: String {
        if let s3 { return "s3://\(s3.bucket)" + (s3.prefix.map { "/\($0)" } ?? "") }
        return path ?? ""
    }

    package func validate() throws(APIError) {
        guard (path == nil) == (s3 == nil) else { return }
        guard path != nil else {
            throw APIError(
                .missingField,
                "The destination names no place",
                allowed: "exactly one of path, s3",
                remedies: ["Add one of `path` and `s3`."]
            )
        }
        throw Self.rejection("s3", "The destination names two places", allowed: "exactly one of path, s3")
    }
}

/// A result at its destination.
public struct DeliveredFile: APIObject {
    /// Path within the results.
    public var path = ""
    /// Where it is, such as s3://bucket/key.
    public var location = ""
    /// Size in bytes.
    public var size = 0
    /// SHA-256 in hexadecimal.
    public var sha256 = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A result at its destination"
    package static let fields: Fields<Self> = [
        .required("path", \.path, "Path within the results"),
        .required("location", \.location, "Where it is, such as s3://bucket/key"),
        .required("size", \.size, in: .count, "Size in bytes"),
        .required("sha256", \.sha256, "SHA-256 in hexadecimal"),
    ]
}

/// How far results are on the way to their destination.
public struct DestinationState: APIObject {
    /// State; it waits until all outputs are published.
    public var state = JobState.waiting
    /// The destination, such as s3://bucket/prefix.
    public var location = ""
    /// The files, once all are there.
    public var files: [DeliveredFile] = []
    /// Why the last attempt failed.
    public var failure: FailureInfo?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How far results are on the way to their destination"
    package static let fields: Fields<Self> = [
        .required("state", \.state, "State; it waits until all outputs are published"),
        .required("location", \.location, "The destination, such as s3://bucket/prefix"),
        .required("files", \.files, "The files, once all are there"),
        .optional("failure", \.failure, "Why the last attempt failed"),
    ]
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// A signed URL to make, with which others can read a result or upload a file without a key.
public struct LinkRequest: APIObject {
    /// GET: /v1/jobs/ID/files/PATH, /v1/jobs/ID/preview/NAME; PUT: /v1/uploads/NAME.
    public var path = ""
    /// What the URL permits.
    public var method = Method.get
    /// Seconds for which it is valid.
    public var expiresIn = 3600.0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    /// What the URL permits.
    public enum Method: String, APIEnum {
        /// Reading.
        case get = "GET"
        /// Uploading.
        case put = "PUT"
    }

    package static let summary = "A signed URL to make, which needs no key"
    package static let fields: Fields<Self> = [
        .required(
            "path",
            \.path,
            in: .text(4...4096, .servicePath),
            "GET: /v1/jobs/ID/files/PATH, /v1/jobs/ID/preview/NAME; PUT: /v1/uploads/NAME"
        ),
        .defaulted("method", \.method, "What the URL permits"),
        .defaulted("expiresIn", \.expiresIn, in: .range(1...604_800), "Seconds for which it is valid"),
    ]

    package func validate() throws(APIError) {
        let start = method == .get ? "/v1/jobs/" : "/v1/uploads/"
        let rest = path.dropFirst(start.count)
        let isSuitable =
            path.hasPrefix(start) && (method == .put || rest.contains("/files/") || rest.contains("/preview/"))
        guard isSuitable else {
            throw Self.rejection(
                "path",
                "There are no links with the method \(method.rawValue) to this path",
                value: path.json,
                allowed: method == .get ? "/v1/jobs/ID/files/PATH, /v1/jobs/ID/preview/NAME" : "/v1/uploads/NAME"
            )
        }
    }
}

/// A signed URL.
public struct Link: APIObject {
    /// URL.
    public var url = ""
    /// When it expires.
    public var expiresAt = Timestamp()

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A signed URL"
    package static let fields: Fields<Self> = [
        .required("url", \.url, "URL"),
        .required("expiresAt", \.expiresAt, "When it expires"),
    ]
}

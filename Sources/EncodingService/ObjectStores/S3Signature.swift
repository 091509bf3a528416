// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import HostSystem

/// Who signs requests to a store.
struct S3Credentials: Sendable, Hashable {
    var accessKey: String
    var secretKey: String
}

/// A request to a store, before it is signed.
struct S3Request: Sendable, Hashable {
    var method: String
    /// With the port, if it is not that of the scheme.
    var host: String
    /// Percent-encoded, from the slash on.
    var path: String
    /// Not encoded.
    var query: [String: String] = [:]
    /// Names in lower case.
    var fields: [String: String] = [:]
    /// The SHA-256 of the body, in hexadecimal digits.
    var bodyHash = S3Signature.hashOfNothing

    /// The query as it is sent and signed.
    var encodedQuery: String {
        query.map { (PercentEncoding.encode($0.key), PercentEncoding.encode($0.value)) }
            .sorted { $0.0 < $1.0 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }
}

/// Signature Version 4 of AWS: each request tells who sends it, and cannot be changed.
enum S3Signature {
    static let hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// The fields of a request with those that sign it.
    ///
    /// - Parameter time: Seconds since 1970.
    static func fields(
        of request: S3Request,
        _ credentials: S3Credentials,
        region: String,
        at time: Double
    ) -> [String: String] {
        let timestamp = UTCDate.text(time).filter { $0 != "-" && $0 != ":" }
        let day = timestamp.prefix(8)
        var fields = request.fields
        fields["host"] = request.host
        fields["x-amz-date"] = timestamp
        fields["x-amz-content-sha256"] = request.bodyHash
        let names = fields.keys.sorted()
        let signedNames = names.joined(separator: ";")
        let canonical = [
            request.method, request.path, request.encodedQuery,
            names.map { "\($0):\(fields[$0] ?? "")\n" }.joined(), signedNames, request.bodyHash,
        ].joined(separator: "\n")
        let scope = "\(day)/\(region)/s3/aws4_request"
        let text = ["AWS4-HMAC-SHA256", timestamp, scope, Digest.sha256(canonical.utf8)].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [String(day), region, "s3", "aws4_request"] { key = code(part, key) }
        fields["authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope),SignedHeaders=\(signedNames),"
            + "Signature=\(Digest.text(code(text, key)))"
        return fields
    }

    private static func code(_ text: String, _ key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
    }
}

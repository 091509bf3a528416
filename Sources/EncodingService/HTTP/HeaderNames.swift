// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes

extension HTTPField.Name {
    static let contentDigest = known("Content-Digest")
    static let idempotencyKey = known("Idempotency-Key")
    static let jobID = known("X-Job-ID")
    static let lastEventID = known("Last-Event-ID")
    static let link = known("Link")
    static let reprDigest = known("Repr-Digest")
    static let requestID = known("X-Request-ID")
    static let secFetchSite = known("Sec-Fetch-Site")

    static let tusChecksumAlgorithm = known("Tus-Checksum-Algorithm")
    static let tusExtension = known("Tus-Extension")
    static let tusMaxSize = known("Tus-Max-Size")
    static let tusResumable = known("Tus-Resumable")
    static let tusVersion = known("Tus-Version")
    static let uploadChecksum = known("Upload-Checksum")
    static let uploadConcat = known("Upload-Concat")
    static let uploadDeferLength = known("Upload-Defer-Length")
    static let uploadExpires = known("Upload-Expires")
    static let uploadLength = known("Upload-Length")
    static let uploadMetadata = known("Upload-Metadata")
    static let uploadOffset = known("Upload-Offset")

    /// A name that is a token (RFC 9110, clause 5.1).
    private static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is not the name of a header field") }
        return name
    }
}

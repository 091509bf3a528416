// SPDX-License-Identifier: GPL-2.0-or-later

/// The kind of an error with which the service answers a request: a stable name, its HTTP status and its title.
public enum ErrorCode: String, Sendable, Hashable, CaseIterable {
    /// `invalid-json`.
    case invalidJSON = "invalid-json"
    /// `invalid-request`.
    case invalidRequest = "invalid-request"
    /// `unknown-field`.
    case unknownField = "unknown-field"
    /// `missing-field`.
    case missingField = "missing-field"
    /// `invalid-parameter`.
    case invalidParameter = "invalid-parameter"
    /// `unauthorized`.
    case unauthorized
    /// `forbidden`.
    case forbidden
    /// `cross-site`.
    case crossSite = "cross-site"
    /// `not-found`.
    case notFound = "not-found"
    /// `method-not-allowed`.
    case methodNotAllowed = "method-not-allowed"
    /// `not-acceptable`.
    case notAcceptable = "not-acceptable"
    /// `conflict`.
    case conflict
    /// `idempotency-conflict`.
    case idempotencyConflict = "idempotency-conflict"
    /// `invalid-state`.
    case invalidState = "invalid-state"
    /// `gone`.
    case gone
    /// `length-required`.
    case lengthRequired = "length-required"
    /// `precondition-failed`.
    case preconditionFailed = "precondition-failed"
    /// `too-large`.
    case tooLarge = "too-large"
    /// `unsupported-media-type`.
    case unsupportedMediaType = "unsupported-media-type"
    /// `range-not-satisfiable`.
    case rangeNotSatisfiable = "range-not-satisfiable"
    /// `checksum-mismatch`.
    case checksumMismatch = "checksum-mismatch"
    /// `rate-limited`.
    case rateLimited = "rate-limited"
    /// `header-too-large`.
    case headerTooLarge = "header-too-large"
    /// `internal`.
    case `internal`
    /// `unavailable`.
    case unavailable
    /// `insufficient-storage`.
    case insufficientStorage = "insufficient-storage"

    /// The status of the answer.
    public var status: Int { entry.status }
    /// What it means, without details.
    public var title: String { entry.title }
    /// What usually helps.
    public var remedies: [String] { entry.remedies }

    private var entry: (status: Int, title: String, remedies: [String]) {
        switch self {
        case .invalidJSON: (400, "The body is not valid JSON", ["Send one value of JSON in UTF-8."])
        case .invalidRequest: (400, "A value is not allowed", ["Change the value that `field` names."])
        case .unknownField: (400, "A key is unknown", ["Remove the key, or correct its spelling."])
        case .missingField: (400, "A value is missing", ["Add the key that `field` names."])
        case .invalidParameter:
            (400, "A parameter is not allowed", ["Change the part of the query, path or header that `field` names."])
        case .unauthorized:
            (401, "The request has no valid key", ["Send `Authorization: Bearer KEY` with a key that is valid."])
        case .forbidden: (403, "The key does not permit this", ["Use a key with the scope that `allowed` names."])
        case .crossSite:
            (403, "The request comes from another site", ["Use the pages of the service itself, or a key."])
        case .notFound: (404, "There is no such resource", ["Check the path and the name."])
        case .methodNotAllowed:
            (405, "The resource does not have this method", ["Use a method that the header `Allow` lists."])
        case .notAcceptable:
            (406, "No accepted format is available", ["Ask in the header `Accept` for a type that `allowed` lists."])
        case .conflict: (409, "There is such a resource already", ["Use another name, or delete the other one."])
        case .idempotencyConflict:
            (409, "The idempotency key was used for another request", ["Use a new key for a new request."])
        case .invalidState: (409, "The state does not permit this", ["Look at the present state first."])
        case .gone: (410, "The resource no longer exists", ["Upload the file or submit the job again."])
        case .lengthRequired: (411, "The length is missing", ["Send the header `Content-Length`."])
        case .preconditionFailed:
            (412, "The resource has changed", ["Read it again, and send its new `ETag`."])
        case .tooLarge: (413, "The body is too large", ["Send at most as many bytes as `allowed` says."])
        case .unsupportedMediaType:
            (415, "The type of the body is not supported", ["Send a `Content-Type` that `allowed` lists."])
        case .rangeNotSatisfiable:
            (416, "The range is outside of the file", ["Ask for a range within the file."])
        case .checksumMismatch: (460, "The checksum differs", ["Send the data again from the last offset."])
        case .rateLimited:
            (429, "There are too many requests", ["Wait as long as the header `Retry-After` says."])
        case .headerTooLarge: (431, "The header is too large", ["Send fewer or shorter header fields."])
        case .internal:
            (500, "The service has failed", ["Look for the request ID in the log of the service."])
        case .unavailable:
            (503, "The service cannot do this now", ["Try again after the time of the header `Retry-After`."])
        case .insufficientStorage:
            (507, "There is not enough disk space", ["Delete files that are no longer needed, or wait."])
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// The body of an answer that reports an error: `application/problem+json` (RFC 9457).
public struct Problem: APIObject {
    /// Path of the description of the error.
    public var type = ""
    /// What the code means.
    public var title = ""
    /// Status of the answer.
    public var status = 0
    /// What is wrong in this request.
    public var detail = ""
    /// Stable name of the error.
    public var code = ""
    /// The place in the body as a JSON pointer, or the name of a parameter.
    public var field: String?
    /// What was given, shortened if it is long.
    public var value: JSONValue?
    /// What is allowed.
    public var allowed: String?
    /// What helps, the best first.
    public var remedies: [String]?
    /// Cause, if a GPU cannot be used.
    public var cause: String?
    /// ID of the request in the log of the service.
    public var requestID = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    /// The media type.
    package static let mediaType = "application/problem+json"

    package static let summary = "An error (RFC 9457)"
    package static let fields: Fields<Self> = [
        .required("type", \.type, "Path of the description of the error"),
        .required("title", \.title, "What the code means"),
        .required("status", \.status, in: .range(400...599), "Status of the answer"),
        .required("detail", \.detail, "What is wrong in this request"),
        .required("code", \.code, "Stable name of the error"),
        .optional("field", \.field, "The place in the body as a JSON pointer, or the name of a parameter"),
        .optional("value", \.value, "What was given, shortened if it is long"),
        .optional("allowed", \.allowed, "What is allowed"),
        .optional("remedies", \.remedies, "What helps, the best first"),
        .optional("cause", \.cause, "Cause, if a GPU cannot be used"),
        .required("requestID", \.requestID, "ID of the request in the log of the service"),
    ]

    /// The body for an error.
    ///
    /// - Parameter requestID: The ID of the request, under which the service logs it.
    package init(_ error: APIError, requestID: String) {
        self.init()
        type = "/v1/errors/\(error.code.rawValue)"
        title = error.title
        status = error.status
        detail = error.detail
        code = error.code.rawValue
        field = error.field
        value = error.value
        allowed = error.allowed
        remedies = error.remedies.isEmpty ? nil : error.remedies
        cause = error.cause
        self.requestID = requestID
    }

    /// The code, unless it is one that this version does not know.
    public var errorCode: ErrorCode? { ErrorCode(rawValue: code) }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// What an error or a failure means, and what helps.
public struct ErrorDescription: APIObject {
    /// Stable name.
    public var code = ""
    /// HTTP status; none for failures of jobs.
    public var status: Int?
    /// What it means.
    public var title = ""
    /// What usually helps.
    public var remedies: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What an error or a failure means, and what helps"
    package static let fields: Fields<Self> = [
        .required("code", \.code, "Stable name"),
        .optional("status", \.status, in: .range(400...599), "HTTP status; none for failures of jobs"),
        .required("title", \.title, "What it means"),
        .required("remedies", \.remedies, "What usually helps"),
    ]

    /// All errors of requests, and the failures of jobs, by code. A code that both have is described once, as an error.
    package static let all: [ErrorDescription] = {
        let errors = ErrorCode.allCases.map { code in
            Self {
                $0.code = code.rawValue
                $0.status = code.status
                $0.title = code.title
                $0.remedies = code.remedies
            }
        }
        let failures = FailureCode.allCases.filter { ErrorCode(rawValue: $0.rawValue) == nil }.map { code in
            Self {
                $0.code = code.rawValue
                $0.title = code.title
                $0.remedies = code.remedies
            }
        }
        return (errors + failures).sorted { $0.code.precedesByBytes($1.code) }
    }()
}

/// Errors and failures.
public struct ErrorList: APIObject {
    /// The errors and failures, by code.
    public var errors: [ErrorDescription] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Errors and failures"
    package static let fields: Fields<Self> = [.required("errors", \.errors, "The errors and failures, by code")]
}

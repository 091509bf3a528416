// SPDX-License-Identifier: GPL-2.0-or-later

public import ServiceAPI

/// Why a call of ``ServiceClient`` has failed: what happened, and what to do.
public struct ClientError: Error, Sendable, Hashable {
    /// What kind of failure it is.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// The service has answered with an error: ``ClientError/problem``.
        case refused
        /// No connection could be made; the service has received nothing.
        case unreachable
        /// The connection broke. The service may have received the request.
        case interrupted
        /// The service took too long to answer. It may have received the request.
        case timedOut
        /// The answer is not one of the service: another program answers, or another version.
        case unexpectedAnswer
        /// Data differ from their digest.
        case damagedData
        /// A file on this machine could not be read or written.
        case file
        /// A value that was given is not allowed, so nothing was sent.
        case invalidValue
        /// The task was cancelled.
        case cancelled
    }

    /// The kind.
    public var kind: Kind
    /// What happened, as a sentence without its period: with what was given and what is allowed, if that is the reason.
    public var message: String
    /// What helps, the best first.
    public var remedies: [String]
    /// What the service said, if it answered with an error.
    public var problem: Problem?

    /// The seconds after which the service wants to be asked again.
    var retryAfter: Double?

    init(
        _ kind: Kind,
        _ message: String,
        remedies: [String] = [],
        problem: Problem? = nil,
        retryAfter: Double? = nil
    ) {
        self.kind = kind
        self.message = message
        self.remedies = remedies
        self.problem = problem
        self.retryAfter = retryAfter
    }

    /// The code of the service's error, unless this version does not know it.
    public var code: ErrorCode? { problem?.errorCode }

    /// The error as the service has thrown it; `nil` if the service has not answered, or with a code that this version
    /// does not know.
    public var apiError: APIError? {
        guard let problem, let code else { return nil }
        var error = APIError(code, problem.detail, field: problem.field, value: problem.value, allowed: problem.allowed)
        error.detail = problem.detail
        error.remedies = problem.remedies ?? []
        error.cause = problem.cause
        return error
    }

    static let cancelled = ClientError(.cancelled, "the task was cancelled")
}

extension ClientError: CustomStringConvertible {
    /// The message and the remedies in one line.
    public var description: String {
        remedies.isEmpty ? message : "\(message). \(remedies.joined(separator: " "))"
    }
}

extension ClientError {
    /// The error of an answer.
    ///
    /// - Parameters:
    ///   - body: The body of the answer, which is a ``Problem`` if the service itself has answered.
    ///   - retryAfter: The header `Retry-After`.
    init(status: Int, body: [UInt8], retryAfter: String?) {
        let seconds = retryAfter.flatMap(Self.seconds(ofRetryAfter:))
        guard let problem = try? Problem.decode(json: body, mode: .response), !problem.code.isEmpty else {
            self.init(
                .unexpectedAnswer,
                "the answer has the status \(status) and is not one of the encoding service",
                remedies: ["Check the URL: another program or a proxy may have answered."],
                retryAfter: status == 429 || (502...504).contains(status) ? seconds ?? 1 : nil
            )
            return
        }
        var facts = [problem.value.map { "given \($0.text)" }, problem.allowed.map { "allowed: \($0)" }]
            .compactMap(\.self)
        if let field = problem.field { facts.insert("at \(field)", at: 0) }
        let detail = problem.detail.hasSuffix(".") ? String(problem.detail.dropLast()) : problem.detail
        self.init(
            .refused,
            facts.isEmpty ? detail : "\(detail) (\(facts.joined(separator: "; ")))",
            remedies: problem.remedies ?? [],
            problem: problem,
            retryAfter: status == 429 || status == 503 ? seconds ?? 1 : nil
        )
    }

    /// The seconds of a header `Retry-After`; dates are not used by the service.
    static func seconds(ofRetryAfter text: String) -> Double? {
        guard let seconds = Double(text), seconds.isFinite, seconds >= 0 else { return nil }
        return seconds
    }

    /// The error for an answer that cannot be read.
    init(unreadable error: APIError, what: String) {
        self.init(
            .unexpectedAnswer,
            "the answer is not \(what): \(error)",
            remedies: ["Check the URL, and that client and service have versions of the same API."]
        )
    }
}

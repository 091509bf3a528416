// SPDX-License-Identifier: GPL-2.0-or-later

/// An error of a job store: what happened, with the value given and the values allowed.
package struct StoreError: Error, Sendable, Hashable {
    /// The kind of an error, stable across versions. More may be added.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// There is no such job, task or queue.
        package static let notFound = Code(rawValue: "not-found")
        /// A value is out of range, or contradicts others.
        package static let invalidArgument = Code(rawValue: "invalid-argument")
        /// The idempotency key was used with another request.
        package static let idempotencyConflict = Code(rawValue: "idempotency-conflict")
        /// The state of the job does not permit the call.
        package static let invalidState = Code(rawValue: "invalid-state")
        /// The attempt is not the task's present one: its lease was lost, or it has ended.
        package static let staleAttempt = Code(rawValue: "stale-attempt")
        /// The job of the attempt was cancelled.
        package static let cancelled = Code(rawValue: "cancelled")
        /// The attempt has begun to publish, and was not completed: only ``JobStore/settle(_:wasPublished:)`` ends it.
        package static let unsettled = Code(rawValue: "unsettled")
        /// The result could not be published, or only in part.
        package static let publishFailed = Code(rawValue: "publish-failed")
        /// The store cannot be reached now. The call may have had its effect.
        package static let unavailable = Code(rawValue: "store-unavailable")
        /// The store's data is damaged.
        package static let damaged = Code(rawValue: "store-damaged")
        /// The store's data was written by a version that this one cannot read.
        package static let version = Code(rawValue: "store-version")
    }

    /// The kind.
    package var code: Code
    /// What happened, as a sentence without a period.
    package var message: String
    /// The value given.
    package var given: String?
    /// The values allowed.
    package var allowed: String?

    /// Makes an error.
    package init(_ code: Code, _ message: String, given: String? = nil, allowed: String? = nil) {
        self.code = code
        self.message = message
        self.given = given
        self.allowed = allowed
    }
}

extension StoreError {
    /// What clients are told: without what databases say, such as the names of hosts and users.
    package var publicMessage: String {
        let isOfDatabase = [.unavailable, .damaged, .version].contains(code)
        return isOfDatabase ? String(message.prefix { $0 != ":" }) : message
    }
}

extension StoreError: CustomStringConvertible {
    /// For example `there is no such job: given 01J…`.
    package var description: String {
        let parts = [given.map { "given \($0)" }, allowed.map { "allowed \($0)" }].compactMap(\.self)
        return parts.isEmpty ? message : "\(message): \(parts.joined(separator: ", "))"
    }
}

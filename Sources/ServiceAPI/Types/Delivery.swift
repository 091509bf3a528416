// SPDX-License-Identifier: GPL-2.0-or-later

/// A report to a webhook.
public struct Delivery: APIObject {
    /// ID.
    public var id = ""
    /// Number of the event.
    public var event = 0
    /// Type of the event.
    public var type = ""
    /// Where it goes.
    public var url = ""
    /// How far it is.
    public var state = State.waiting
    /// How often it was tried.
    public var attempts = 0
    /// When the event happened.
    public var createdAt = Timestamp()
    /// When it was tried last.
    public var lastAttemptAt: Timestamp?
    /// When it will be tried next.
    public var nextAttemptAt: Timestamp?
    /// When it was delivered.
    public var deliveredAt: Timestamp?
    /// HTTP status of the last answer.
    public var status: Int?
    /// Why the last attempt failed.
    public var error: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    /// How far a report is.
    public enum State: String, APIEnum {
        /// It will be tried, or tried again.
        case waiting
        /// It was delivered.
        case delivered
        /// It was given up.
        case failed
    }

    package static let summary = "A report to a webhook"
    package static let fields: Fields<Self> = [
        .required("id", \.id, "ID"),
        .required("event", \.event, in: .count, "Number of the event"),
        .required("type", \.type, "Type of the event"),
        .required("url", \.url, "Where it goes"),
        .required("state", \.state, "How far it is"),
        .required("attempts", \.attempts, in: .count, "How often it was tried"),
        .required("createdAt", \.createdAt, "When the event happened"),
        .optional("lastAttemptAt", \.lastAttemptAt, "When it was tried last"),
        .optional("nextAttemptAt", \.nextAttemptAt, "When it will be tried next"),
        .optional("deliveredAt", \.deliveredAt, "When it was delivered"),
        .optional("status", \.status, in: .range(100...599), "HTTP status of the last answer"),
        .optional("error", \.error, "Why the last attempt failed"),
    ]
}

/// Reports to a webhook.
public struct DeliveryList: APIObject {
    /// The reports, the newest first.
    public var deliveries: [Delivery] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Reports to a webhook"
    package static let fields: Fields<Self> = [.required("deliveries", \.deliveries, "The reports, the newest first")]
}

/// The secret with which reports are signed.
public struct WebhookSecret: APIObject {
    /// Whsec_ and the bytes of the secret in Base64.
    public var secret = ""
    /// Until when reports have the signature of the secret before, too.
    public var formerUntil: Timestamp?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The secret with which reports are signed (Standard Webhooks 1.0)"
    package static let fields: Fields<Self> = [
        .required("secret", \.secret, "whsec_ and the bytes of the secret in Base64"),
        .optional("formerUntil", \.formerUntil, "Until when reports have the signature of the secret before, too"),
    ]
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI

/// A live job as it is kept across restarts of the service, with its secrets.
struct LiveRecord: Sendable, Hashable {
    let id: String
    var request: LiveRequest
    let createdAt: Double
    /// The idempotency key with the client that has sent it; `nil` if there is none.
    var key: String?
    /// The digest of the request with which the job was made.
    var digest: String
    /// The index of the input that is used.
    var input = 0
    /// How it has ended; `nil` while it is to run.
    var end: End?

    struct End: Sendable, Hashable {
        var time: Double
        /// Why it has failed; `nil` if it has ended as asked.
        var failure: FailureInfo?
    }

    init(id: String, request: LiveRequest, createdAt: Double, key: String?) {
        (self.id, self.request, self.createdAt, self.key) = (id, request, createdAt, key)
        digest = Digest.sha256(request.canonicalBytes)
    }

    /// Reads what ``json`` has written.
    init(id: String, json: JSONValue) throws(APIError) {
        self.id = id
        request = try LiveRequest.decode(json: json["request"] ?? .null, mode: .response)
        createdAt = json["createdAt"]?.double ?? 0
        key = json["key"]?.string
        digest = json["digest"]?.string ?? ""
        input = json["input"]?.integer ?? 0
        if let time = json["endedAt"]?.double {
            let failure = try json["failure"].map { (json) throws(APIError) in
                try FailureInfo.decode(json: json, mode: .response)
            }
            end = End(time: time, failure: failure)
        }
    }

    var json: JSONValue {
        var object: JSONObject = [
            "request": request.json, "createdAt": .number(createdAt), "digest": .string(digest),
            "input": .integer(Int64(input)),
        ]
        if let key { object["key"] = .string(key) }
        if let end {
            object["endedAt"] = .number(end.time)
            if let failure = end.failure { object["failure"] = failure.json }
        }
        return .object(object)
    }
}

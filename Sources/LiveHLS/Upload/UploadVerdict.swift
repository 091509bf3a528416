// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What a server answers to a request.
struct UploadAnswer: Sendable, Hashable {
    /// The status of the response.
    var status: Int
    /// The words of the status, as HTTP has them.
    var reason = ""
    /// Where a redirect leads to.
    var location: String?
}

/// What follows from an answer.
enum UploadVerdict: Sendable, Hashable {
    /// The server has done it.
    case done
    /// It may do it later.
    case later(MediaError)
    /// It will not do it.
    case refused(MediaError)

    /// What a request is for.
    enum Purpose: Sendable, Hashable {
        /// To know whether the server is there.
        case look
        /// To store a file.
        case store
    }

    /// The one of both after which less can go on.
    func worse(_ other: UploadVerdict) -> UploadVerdict {
        switch (self, other) {
        case (.refused, _), (.later, .done), (.later, .later), (.done, .done): self
        default: other
        }
    }

    /// - Parameter hasStored: Whether the server has stored files of this stream: then the address is right, and it may
    ///   refuse the rest only for now.
    init(_ answer: UploadAnswer, to purpose: Purpose, hasStored: Bool) {
        let text = answer.reason.isEmpty ? "\(answer.status)" : "\(answer.status) \(answer.reason)"
        let code: MediaError.Code = hasStored ? .unavailable : .unsupported
        func refusal(_ message: String, _ given: String, _ remedies: [String]) -> UploadVerdict {
            .refused(MediaError(code, message, given: given, remedies: remedies))
        }
        switch answer.status {
        case 200..<300: self = .done
        case 300..<400:
            // A query may be a secret.
            let place = answer.location.map { String($0.prefix { $0 != "?" }) }
            let remedies = place == nil ? [] : ["send to the address that the server names"]
            self = refusal("the server redirects, which is not followed", place ?? text, remedies)
        case 401, 407: self = refusal("the server refuses the credentials", text, Self.access)
        case 408, 423, 425, 429, 500, 502...504, 506...599:
            let message = "the server cannot store the stream now"
            self = .later(MediaError(.unavailable, message, given: text, isPermanent: false))
        default:
            let remedies = Self.remedies[answer.status] ?? []
            self = purpose == .look ? .done : refusal("the server does not store the stream", text, remedies)
        }
    }

    private static let access = [
        "name the user in the address: hls:put:https://user:password@host/path/",
        "set the header Authorization: VATOOLBOX_AUTHORIZATION=",
    ]
    private static let folders = ["create the folders of the stream on the server, or let it create them"]
    private static let remedies = [
        403: access, 404: folders, 409: folders,
        405: ["let the server take the method PUT"], 413: ["let the server take larger files"],
        501: ["let the server take the method PUT"],
    ]
}

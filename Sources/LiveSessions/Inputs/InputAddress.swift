// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A path or a URL that is played.
struct InputAddress: Sendable, Hashable {
    /// As it was given, perhaps with a user and a password.
    let text: String

    /// Whether what comes from it has its own speed, and continues after an interruption. Files of web servers have neither.
    var isLive: Bool {
        guard let scheme else { return false }
        let isPlaylist = text.prefix { $0 != "?" }.lowercased().hasSuffix(".m3u8")
        return ["http", "https"].contains(scheme) ? isPlaylist : scheme != "file"
    }

    var scheme: String? { text.contains("://") ? String(text.prefix { $0 != ":" }).lowercased() : nil }

    /// The address without its user and password, for people.
    var redacted: String {
        guard scheme != nil, let start = text.range(of: "://")?.upperBound else { return text }
        let authority = text[start...].prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return text[..<start] + "***" + text[at...]
    }

    /// An error without the user and the password.
    func redacting(_ error: MediaError) -> MediaError {
        guard redacted != text else { return error }
        var error = error
        error.message = error.message.replacing(text, with: redacted)
        error.given = error.given?.replacing(text, with: redacted)
        error.allowed = error.allowed?.replacing(text, with: redacted)
        error.remedies = error.remedies.map { $0.replacing(text, with: redacted) }
        return error
    }
}

extension String {
    /// Where a text is in this one.
    fileprivate func range(of part: String) -> Range<Index>? { ranges(of: part).first }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// A URL of a live input or output: what of it may be shown, and what is secret.
///
/// Secret are users and passwords; of RTMP, the path behind the application, with its query; of SRT, the passphrase and the
/// identifier of the stream; of others, the query.
package struct LiveAddress: Sendable, Hashable {
    /// The URL with `***` in place of secrets.
    package let shown: String
    /// The texts that must not be shown, the longest first.
    package let secrets: [String]

    /// - Parameter url: A URL that ``TextPattern/liveInput`` or ``TextPattern/liveOutput`` allows.
    package init(_ url: String) {
        let scheme = url.prefix { $0 != ":" }
        let rest = url.dropFirst(scheme.count + 3)
        let authority = rest.prefix { !"/?#".contains($0) }
        var secrets: [Substring] = []
        var place = authority
        if let at = authority.lastIndex(of: "@") {
            secrets += [authority[..<at]] + authority[..<at].split(separator: ":")
            place = authority[authority.index(after: at)...]
        }
        let hasUser = place.startIndex != authority.startIndex
        var shown = "\(scheme)://\(hasUser ? "***@" : "")\(place)"
        let tail = rest[authority.endIndex...]
        let path = tail.prefix { $0 != "?" && $0 != "#" }
        let query = tail[path.endIndex...].dropFirst()
        switch scheme {
        case "rtmp", "rtmps":
            // The application is the first component; all others may be the key.
            let components = path.split(separator: "/")
            shown += components.first.map { "/\($0)" } ?? ""
            if components.count > 1 || !query.isEmpty { shown += "/***" }
            secrets += components.dropFirst() + Self.secrets(ofQuery: query)
            if let first = components.first, components.count > 1 {
                secrets.append(tail.dropFirst(first.count + 2))
            }
        case "srt":
            shown += path
            let fields = query.split(separator: "&").map { field -> String in
                let name = field.prefix { $0 != "=" }
                guard Self.secretsOfSRT.contains(name.lowercased()) else { return String(field) }
                secrets.append(field.dropFirst(name.count + 1))
                return "\(name)=***"
            }
            if !fields.isEmpty { shown += "?" + fields.joined(separator: "&") }
        case "udp": shown += tail
        default:
            shown += path
            if !query.isEmpty {
                shown += "?***"
                secrets += Self.secrets(ofQuery: query)
            }
        }
        self.shown = shown
        // Shorter ones would hide parts of ordinary words, and are no secrets.
        self.secrets = Set(secrets.map(String.init)).filter { $0.utf8.count > 2 }
            .sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }

    private static func secrets(ofQuery query: Substring) -> [Substring] {
        [query] + query.split(separator: "&").map { $0.drop { $0 != "=" }.dropFirst() }
    }

    private static let secretsOfSRT: Set = ["passphrase", "streamid"]
}

extension LiveRequest {
    /// The request with `***` in place of secrets.
    package var shown: LiveRequest {
        var shown = self
        for index in inputs.indices { shown.inputs[index].url = inputs[index].url.map { LiveAddress($0).shown } }
        for index in outputs.indices { shown.outputs[index].url = outputs[index].url.map { LiveAddress($0).shown } }
        return shown
    }

    /// Everything that must not be shown.
    package var secrets: [String] {
        (inputs.compactMap(\.url) + outputs.compactMap(\.url)).flatMap { LiveAddress($0).secrets }
            .sorted { $0.utf8.count > $1.utf8.count }
    }
}

extension LiveInput {
    /// What it is, for people.
    package var text: String {
        if let url { return LiveAddress(url).shown }
        return path ?? "test chart"
    }
}

extension LiveOutput {
    /// Where it goes, for people.
    package var text: String {
        if let url { return LiveAddress(url).shown }
        return "hls:" + (hls?.path ?? "service")
    }
}

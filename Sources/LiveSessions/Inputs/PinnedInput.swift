// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import MediaTypes

/// A live URL that leads to the very address that was checked, and nowhere else.
///
/// FFmpeg asks the name server itself, which may give another answer by then, so the URL names the address. The format is
/// set, because some formats name further URLs. A server of RTSP can send its clients elsewhere, so its address must be
/// one that the operator has named.
struct PinnedInput: Sendable, Hashable {
    /// The URL with an address in place of the host.
    var url: String
    /// FFmpeg's name of the format.
    var format: String
}

extension PinnedInput {
    /// The protocols with their formats.
    private static let formats = ["rtmp": "flv", "rtsp": "rtsp", "srt": "mpegts", "udp": "mpegts", "rtp": "rtp"]

    /// Looks the host up, which may wait.
    ///
    /// - Throws: `invalidArgument` for another protocol, and for an address that is not allowed, which is not permanent
    ///   if it is that of a name; `unavailable`, not permanently, if the host has no address.
    init(
        _ address: InputAddress,
        _ policy: AddressPolicy,
        resolve: (String) -> [IPAddress] = { IPAddress.resolve($0) }
    ) throws(MediaError) {
        guard let scheme = address.scheme, let format = Self.formats[scheme] else {
            throw MediaError(
                .invalidArgument,
                "live inputs of this protocol are not allowed here",
                given: address.scheme,
                allowed: Self.formats.keys.sorted().joined(separator: ", ")
            )
        }
        let rest = address.text.dropFirst(scheme.count + 3)
        let authority = rest.prefix { !"/?#".contains($0) }
        let at = authority.lastIndex(of: "@")
        let place = at.map { authority[authority.index(after: $0)...] } ?? authority
        let (host, port) = Self.split(place)
        // Without a host, it listens at all addresses of this machine.
        let name = host.isEmpty ? "0.0.0.0" : host
        let found = resolve(name)
        guard !found.isEmpty else {
            throw MediaError(.unavailable, "the host has no address", given: name, isPermanent: false)
        }
        let isAllowed = scheme == "rtsp" ? policy.names : policy.allows
        guard let allowed = found.first(where: isAllowed) else {
            throw MediaError(
                .invalidArgument,
                scheme == "rtsp"
                    ? "the address of \(name) is not one that is allowed by name, which RTSP needs"
                    : "the address of \(name) is not public",
                given: found.map(\.description).joined(separator: ", "),
                allowed: scheme == "rtsp"
                    ? "addresses that are allowed by name"
                    : "public addresses, and those that are allowed by name",
                isPermanent: IPAddress(name) != nil
            )
        }
        let text = allowed.description.contains(":") ? "[\(allowed)]" : allowed.description
        let user = at.map { authority[...$0] } ?? ""
        url = "\(scheme)://\(user)\(text)\(port)\(rest[authority.endIndex...])"
        self.format = format
    }

    /// The host without brackets, and the port with its colon.
    private static func split(_ place: Substring) -> (host: String, port: Substring) {
        if place.first == "[", let end = place.lastIndex(of: "]") {
            return (String(place[place.index(after: place.startIndex)..<end]), place[place.index(after: end)...])
        }
        let colon = place.lastIndex(of: ":") ?? place.endIndex
        return (String(place[..<colon]), place[colon...])
    }
}

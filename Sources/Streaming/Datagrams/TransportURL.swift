// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The parts of `scheme://host:port?name=value&...`. RFC 3986.
///
/// It differs from a general URL in two ways: a `#` begins no fragment, because stream identifiers of SRT begin with
/// `#!::`, and there is neither a user nor a path. Its errors show neither values of parameters nor user names.
struct TransportURL {
    /// The scheme in lower case.
    let scheme: String
    /// The name or address, without the brackets of IPv6; empty if there is none.
    let host: String
    let port: UInt16
    /// The parameters with percent-encoding removed.
    let parameters: [String: String]

    /// - Parameters:
    ///   - schemes: The allowed schemes.
    ///   - names: The allowed names of parameters.
    ///   - secrets: The names of those whose values nobody may see.
    init(
        _ text: String,
        schemes: [String],
        parameters names: [String],
        secrets: [String] = []
    ) throws(MediaError) {
        let form = "\(schemes[0])://host:port?name=value&..."
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw MediaError(.invalidArgument, "the address has no scheme", allowed: form) }
        scheme = parts[0].lowercased()
        guard schemes.contains(scheme) else {
            throw MediaError(
                .invalidArgument,
                "the address has another scheme",
                given: "\(parts[0].prefix(20))://",
                allowed: schemes.map { "\($0)://" }.joined(separator: ", ")
            )
        }
        let sections = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        (host, port) = try Self.authority(sections[0], form: form)
        parameters = try Self.parameters(sections.count == 2 ? sections[1] : "", allowed: names, secrets: secrets)
    }

    /// Returns the value of a parameter as a number; `nil` if there is none.
    func integer(_ name: String, in range: ClosedRange<Int>, unit: String, remedies: [String] = []) throws(MediaError)
        -> Int?
    {
        guard let text = parameters[name] else { return nil }
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, let value = Int(text), range.contains(value) else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong \(name)",
                given: text,
                allowed: "\(range.lowerBound)...\(range.upperBound)\(unit.isEmpty ? "" : " " + unit)",
                remedies: remedies
            )
        }
        return value
    }

    private static func authority(_ text: Substring, form: String) throws(MediaError) -> (String, UInt16) {
        guard !text.contains("@") else {
            throw MediaError(
                .invalidArgument,
                "the address has a user name or an @, which it cannot have",
                allowed: form
            )
        }
        let authority = text.last == "/" ? text.dropLast() : text
        guard !authority.contains("/") else {
            throw MediaError(.invalidArgument, "the address has a path, which it cannot have", allowed: form)
        }
        let server = try HostAndPort(authority)
        guard let port = server.port else {
            throw MediaError(.invalidArgument, "the address has no port", given: String(authority), allowed: form)
        }
        return (server.host, port)
    }

    private static func parameters(
        _ query: Substring,
        allowed names: [String],
        secrets: [String]
    ) throws(MediaError) -> [String: String] {
        var parameters: [String: String] = [:]
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0])
            guard names.contains(name) else {
                // What follows a secret may be the rest of it, after an & that was not encoded.
                let isShown = pair.count == 2 && secrets.allSatisfy { parameters[$0] == nil }
                throw MediaError(
                    .invalidArgument,
                    "the address has an unknown parameter",
                    given: isShown ? String(name.prefix(40)) : nil,
                    allowed: names.joined(separator: ", ")
                )
            }
            guard pair.count == 2, !pair[1].isEmpty else {
                throw MediaError(.invalidArgument, "the parameter \(name) of the address has no value")
            }
            guard parameters[name] == nil else {
                throw MediaError(.invalidArgument, "the address has the parameter \(name) twice")
            }
            guard let value = PercentEncoding.decoded(pair[1]), !value.utf8.contains(where: isControl) else {
                throw MediaError(
                    .invalidArgument,
                    "the parameter \(name) of the address is not encoded correctly",
                    allowed: "UTF-8 without control characters, with % and & written as %25 and %26"
                )
            }
            parameters[name] = value
        }
        return parameters
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
}

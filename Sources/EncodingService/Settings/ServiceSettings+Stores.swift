// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem

/// Stores of the S3 protocol.
extension ServiceSettings {
    /// The endpoints of the stores, by name.
    var objectStores: [String: S3Endpoint] {
        Dictionary(stores.compactMap(Self.named).compactMap { name, text in S3Endpoint(text).map { (name, $0) } }) {
            $1
        }
    }

    /// The parts of `NAME=TEXT`.
    private static func named(_ text: String) -> (name: String, text: String)? {
        guard let sign = text.firstIndex(of: "=") else { return nil }
        let name = text[..<sign]
        let isName = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        return name.isEmpty || !isName ? nil : (String(name), String(text[text.index(after: sign)...]))
    }

    /// Checks the settings of stores as far as that needs no file.
    func validateStores() throws(SettingsError) {
        var names: Set<String> = []
        for text in stores {
            guard let (name, endpoint) = Self.named(text), S3Endpoint(endpoint) != nil else {
                throw SettingsError(
                    "a store is malformed",
                    given: text,
                    allowed: "NAME=http[s]://HOST[:PORT][?region=REGION][&style=path|host], NAME of a-z, 0-9, - and _"
                )
            }
            guard names.insert(name).inserted else {
                throw SettingsError("two stores have the same name", given: name, allowed: "different names")
            }
        }
        for (texts, what) in [(storeCredentials, "s3.credentials"), (storeCredentialFiles, "s3.credential-files")] {
            for text in texts {
                guard let (name, _) = Self.named(text), names.contains(name) else {
                    // The text may be a secret.
                    throw SettingsError(
                        "an entry of \(what) is of no store",
                        given: Self.named(text)?.name ?? "an entry without a name",
                        allowed: "NAME=…, for the stores \(names.sorted().joined(separator: ", "))"
                    )
                }
            }
        }
        for name in names.sorted() {
            let count = (storeCredentials + storeCredentialFiles).count { Self.named($0)?.name == name }
            guard count == 1 else {
                throw SettingsError(
                    "the store \(name) has \(count == 0 ? "no" : "several") credentials",
                    given: "\(count) entries",
                    allowed: "one entry of s3.credentials or s3.credential-files"
                )
            }
        }
    }

    /// The credentials of a store.
    ///
    /// - Throws: `SettingsError` if they cannot be read. It does not have the secret.
    func credentials(ofStore name: String) throws(SettingsError) -> S3Credentials {
        func entry(_ texts: [String]) -> String? {
            texts.lazy.compactMap(Self.named).first { $0.name == name }?.text
        }
        let parts: [Substring]
        let allowed: String
        if let path = entry(storeCredentialFiles) {
            allowed = "a file with an access key and a secret on two lines"
            let bytes: [UInt8]?
            do throws(FileError) { bytes = try Files.read(path, atMost: 4096) } catch {
                throw SettingsError("credentials cannot be read: \(error.reason)", given: path, allowed: allowed)
            }
            parts = String(decoding: bytes ?? [], as: UTF8.self).split(whereSeparator: \.isWhitespace)
        } else {
            allowed = "NAME=ACCESSKEY:SECRET"
            parts = (entry(storeCredentials) ?? "").split(separator: ":", maxSplits: 1)
        }
        guard parts.count == 2 else {
            throw SettingsError("credentials are malformed", given: "those of the store \(name)", allowed: allowed)
        }
        return S3Credentials(accessKey: String(parts[0]), secretKey: String(parts[1]))
    }
}

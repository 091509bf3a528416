// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import HTTPTypes
internal import HostSystem
internal import ServiceAPI

/// Signs URLs, so that programs without a key, such as the video element of a browser, can fetch or send one file.
struct LinkSigner: Sendable {
    /// The parameters of a signed URL.
    static let parameters = ["expires", "signature"]

    private let key: SymmetricKey

    /// Reads the key of signatures, or makes it. Without the file, all links lose their validity.
    init(path: String) throws {
        if let bytes = try Files.read(path), bytes.count == 32 {
            key = SymmetricKey(data: bytes)
        } else {
            key = SymmetricKey(size: .bits256)
            try Files.replace(path, with: key.withUnsafeBytes { Array($0) })
        }
    }

    /// Returns the path with a signature.
    ///
    /// - Parameters:
    ///   - path: The path of the URL, percent-encoded, without a query.
    ///   - expires: Seconds since 1970.
    func sign(_ method: HTTPRequest.Method, _ path: String, expires: Int) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Self.text(method, path, expires), using: key)
        return "\(path)?expires=\(expires)&signature=\(Digest.text(code))"
    }

    /// Whether a signature is valid now.
    func isValid(_ method: HTTPRequest.Method, _ path: String, expires: String?, signature: String?) -> Bool {
        guard let expires = expires.flatMap({ Int($0) }), Double(expires) > Clock.now,
            let signature = signature.flatMap(Digest.bytes)
        else { return false }
        // A link to read a file can also ask for its headers.
        let method = method == .head ? .get : method
        return HMAC<SHA256>.isValidAuthenticationCode(
            signature,
            authenticating: Self.text(method, path, expires),
            using: key
        )
    }

    private static func text(_ method: HTTPRequest.Method, _ path: String, _ expires: Int) -> [UInt8] {
        Array("\(method.rawValue)\n\(path)\n\(expires)".utf8)
    }
}

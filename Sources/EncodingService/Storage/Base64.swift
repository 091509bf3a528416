// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials

/// Base64 (RFC 4648, clause 4).
enum Base64 {
    static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
    static func bytes(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The hidden name that an output has beside its final place until it is complete:
/// `.vatoolbox-PROCESS-NUMBER-FINALNAME.part`.
package enum UnfinishedName {
    private static let prefix = ".vatoolbox-"
    private static let suffix = ".part"
    /// The bytes of the final name that are kept, so that the whole is shorter than `NAME_MAX`.
    private static let most = 200

    /// Returns a name that probably nothing has yet.
    ///
    /// - Parameter name: The final name, without its folder.
    package static func make(for name: String) -> String {
        var kept = String.UnicodeScalarView()
        var count = 0
        for scalar in name.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= most else { break }
            kept.append(scalar)
        }
        let number = String(UInt32.random(in: 0...(.max)), radix: 16)
        return "\(prefix)\(getpid())-\(number)-\(String(kept))\(suffix)"
    }

    /// Returns the final name; `nil` if the name was not made by ``make(for:)``. Of one that was too long, it is the
    /// beginning.
    package static func finalName(of name: String) -> String? {
        // By scalars: a final name may begin with a character that combines with the hyphen.
        let scalars = name.unicodeScalars
        guard scalars.starts(with: prefix.unicodeScalars), name.utf8.reversed().starts(with: suffix.utf8.reversed())
        else { return nil }
        let parts = scalars.dropFirst(prefix.unicodeScalars.count).dropLast(suffix.unicodeScalars.count)
            .split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        return String(String.UnicodeScalarView(parts[2]))
    }
}

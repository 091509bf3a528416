// SPDX-License-Identifier: GPL-2.0-or-later

/// The version of the package, defined only here.
package enum PackageVersion {
    /// For example `0.1.0`.
    package static let current = "0.1.0"
}

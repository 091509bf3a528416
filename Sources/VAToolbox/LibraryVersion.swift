// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The VAToolbox package.
public enum LibraryVersion {
    /// The version of the package, for example `0.1.0`.
    public static let current = PackageVersion.current
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The package as a whole.
public enum LibraryVersion {
    /// Its version, for example `0.1.0`.
    public static let current = PackageVersion.current
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// The package as a whole.
public enum LibraryVersion {
    /// Its version, for example `0.1.0`.
    public static let current = "0.1.0"
}

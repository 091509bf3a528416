// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// Variables of the environment.
enum Environment {
    /// Takes a secret out of the environment, so that no process that this one starts gets it.
    ///
    /// - Returns: The value of the variable; `nil` if it is empty or not set.
    static func take(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        unsetenv(name)
        return text.isEmpty ? nil : text
    }
}

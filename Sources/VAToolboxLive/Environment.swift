// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// Variables of the environment.
enum Environment {
    /// The value of a variable; `nil` if it is empty or not set.
    static func value(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}

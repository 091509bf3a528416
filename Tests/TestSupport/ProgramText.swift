// SPDX-License-Identifier: GPL-2.0-or-later

internal import Foundation
internal import MediaTypes

/// Programs that tests write.
package enum ProgramText {
    /// Writes a text as a program.
    ///
    /// Another process makes it: a program that another test starts meanwhile would inherit a descriptor of this process
    /// that writes the file, and as long as there is one, the file cannot be executed (ETXTBSY).
    package static func write(_ text: String, to path: String) throws {
        let draft = path + ".draft"
        try Data(text.utf8).write(to: URL(fileURLWithPath: draft))
        defer { unlink(draft) }
        let command = ["-m", "755", draft, path]
        let process = try Process.run(URL(fileURLWithPath: "/usr/bin/install"), arguments: command)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw MediaError(.unavailable, "the program of a test cannot be written", given: path)
        }
    }
}

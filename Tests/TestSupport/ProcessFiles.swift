// SPDX-License-Identifier: GPL-2.0-or-later

internal import RenderNodes

/// What the kernel says of processes, in files below `/proc`. What is gone is empty.
///
/// Foundation's ways to read files and folders leave some memory behind each time, which tests that count memory would find.
package enum ProcessFiles {
    private static let system = SystemCalls()

    /// The names in a folder.
    package static func names(_ folder: String) -> [String] { (try? system.names(folder)) ?? [] }

    /// The text of a file.
    package static func text(_ path: String) -> String { (try? system.text(path)) ?? "" }

    /// The processes that one has started and that run, or have ended and were not waited for.
    ///
    /// - Parameter process: A number, or `self`.
    package static func children(of process: some CustomStringConvertible) -> [Int32] {
        let folder = "/proc/\(process)/task"
        return names(folder).flatMap { task in
            text("\(folder)/\(task)/children").split(separator: " ").compactMap { Int32($0) }
        }
    }
}

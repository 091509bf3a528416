// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The kernel files that describe a machine, below a root that tests can replace.
package struct MachineFiles: Sendable {
    private let root: String

    /// - Parameter root: The folder that contains `proc`, `sys`, `etc` and `run`.
    package init(root: String = "/") { self.root = root.hasSuffix("/") ? String(root.dropLast()) : root }

    /// A file that cannot be read.
    package struct Absence: Error {
        /// The path and the reason, as text for users.
        package let reason: String
    }

    /// Returns the text of a file, without white space at its ends.
    ///
    /// - Parameter path: The path without the root, such as `/proc/meminfo`.
    package func text(_ path: String) throws(Absence) -> String {
        do throws(FileError) {
            guard let bytes = try Files.read(root + path) else {
                throw FileError("open", root + path, status: ENOENT)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let end = text.lastIndex { !$0.isWhitespace }.map(text.index(after:)) ?? text.startIndex
            return String(text[..<end].drop(while: \.isWhitespace))
        } catch {
            throw Absence(reason: "\(path): \(error.reason)")
        }
    }

    /// Returns the names in a folder, sorted.
    package func names(_ folder: String) throws(Absence) -> [String] {
        do throws(FileError) {
            let names = try Files.names(in: root + folder)
            guard !names.isEmpty || exists(folder) else {
                throw FileError("opendir", root + folder, status: ENOENT)
            }
            return names
        } catch {
            throw Absence(reason: "\(folder): \(error.reason)")
        }
    }

    /// Returns the text of a file, if it is readable and not empty.
    package func word(_ path: String) -> String? { (try? text(path)).flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns whether a file or folder exists.
    package func exists(_ path: String) -> Bool { access(root + path, F_OK) == 0 }

    /// The root, for code that reads below it by other means.
    package var rootPath: String { root.isEmpty ? "/" : root }
}

/// Lines of a key, a colon and a value, the format of many kernel files.
package struct KeyedLines {
    private let values: [Substring: [Substring]]

    package init(_ text: String) {
        var values: [Substring: [Substring]] = [:]
        for line in text.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let key = Self.trimmed(line[..<colon])
            values[key, default: []].append(Self.trimmed(line[line.index(after: colon)...]))
        }
        self.values = values
    }

    /// The first value of a key.
    package subscript(key: Substring) -> Substring? { values[key]?.first }

    /// All values of a key.
    package func all(_ key: Substring) -> [Substring] { values[key] ?? [] }

    /// Keys and first values.
    package var pairs: [(key: Substring, value: Substring)] { values.map { ($0.key, $0.value[0]) } }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop(while: \.isWhitespace)
        return start.lastIndex { !$0.isWhitespace }.map { start[...$0] } ?? start.prefix(0)
    }
}

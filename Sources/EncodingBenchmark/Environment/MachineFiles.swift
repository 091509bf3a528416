// SPDX-License-Identifier: GPL-2.0-or-later

internal import RenderNodes

/// The kernel files that describe a machine, below a root that tests can replace.
struct MachineFiles {
    private let root: String
    private let system = SystemCalls()

    /// - Parameter root: The folder that contains `proc`, `sys`, `etc` and `run`.
    init(root: String = "/") { self.root = root.hasSuffix("/") ? String(root.dropLast()) : root }

    /// A file that cannot be read.
    struct Absence: Error {
        /// The path and the reason, as text for users.
        let reason: String
    }

    /// Returns the text of a file, without white space at its ends.
    ///
    /// - Parameter path: The path without the root, such as `/proc/meminfo`.
    func text(_ path: String) throws(Absence) -> String {
        do throws(SystemError) {
            let text = try system.text(root + path)
            let end = text.lastIndex { !$0.isWhitespace }.map(text.index(after:)) ?? text.startIndex
            return String(text[..<end].drop(while: \.isWhitespace))
        } catch {
            throw Absence(reason: "\(path): \(error.text)")
        }
    }

    /// Returns the names in a folder, sorted.
    func names(_ folder: String) throws(Absence) -> [String] {
        do throws(SystemError) {
            return try system.names(root + folder).sorted()
        } catch {
            throw Absence(reason: "\(folder): \(error.text)")
        }
    }

    /// Returns the text of a file, if it is readable and not empty.
    func word(_ path: String) -> String? { (try? text(path)).flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns whether a file or folder exists.
    func exists(_ path: String) -> Bool { (try? system.status(root + path)) != nil }

    /// The root, for code that reads below it by other means.
    var rootPath: String { root.isEmpty ? "/" : root }
}

/// Lines of a key, a colon and a value, the format of many kernel files.
struct KeyedLines {
    private let values: [Substring: [Substring]]

    init(_ text: String) {
        var values: [Substring: [Substring]] = [:]
        for line in text.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let key = Self.trimmed(line[..<colon])
            values[key, default: []].append(Self.trimmed(line[line.index(after: colon)...]))
        }
        self.values = values
    }

    /// The first value of a key.
    subscript(key: Substring) -> Substring? { values[key]?.first }

    /// All values of a key.
    func all(_ key: Substring) -> [Substring] { values[key] ?? [] }

    /// Keys and first values.
    var pairs: [(key: Substring, value: Substring)] { values.map { ($0.key, $0.value[0]) } }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop(while: \.isWhitespace)
        return start.lastIndex { !$0.isWhitespace }.map { start[...$0] } ?? start.prefix(0)
    }
}

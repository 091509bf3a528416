// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
internal import Glibc
package import MediaTypes

/// JSON values in files of a benchmark's folder.
package enum BenchmarkFile {
    /// Writes a value; the file appears when it is complete.
    ///
    /// - Throws: `inputOutput`.
    package static func write(_ value: some Encodable, to path: String) throws(MediaError) {
        try write(bytes: [UInt8](try line(value).utf8), to: path)
    }

    /// Writes bytes; the file appears when it is complete.
    ///
    /// - Throws: `inputOutput`.
    package static func write(bytes: [UInt8], to path: String) throws(MediaError) {
        let temporary = path + ".part"
        do throws(MediaError) {
            try OpenFile(temporary, O_CREAT | O_TRUNC).write(bytes)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            throw systemFailure("rename", "a file of the benchmark cannot be written", path)
        }
    }

    /// Creates a folder and its parents.
    ///
    /// - Throws: `inputOutput`.
    package static func makeFolder(_ path: String) throws(MediaError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw MediaError(.inputOutput, "a folder of the benchmark cannot be created", given: path)
        }
    }

    /// Reads a value.
    ///
    /// - Throws: `inputOutput`, `malformedData`.
    package static func read<Value: Decodable>(_ path: String) throws(MediaError) -> Value {
        try value(try text(path), path)
    }

    /// Reads a file.
    ///
    /// - Parameter what: The description of the file, for the error.
    /// - Throws: `inputOutput`.
    package static func text(_ path: String, _ what: String = "a file of the benchmark") throws(MediaError) -> String {
        String(decoding: try bytes(path, what), as: UTF8.self)
    }

    /// Reads a file.
    ///
    /// - Parameter what: The description of the file, for the error.
    /// - Throws: `inputOutput`.
    static func bytes(_ path: String, _ what: String = "a file of the benchmark") throws(MediaError) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw MediaError(.inputOutput, "\(what) cannot be read", given: path)
        }
    }

    /// Returns a value as one line of JSON, with its newline. Keys are sorted, so that equal values result in equal
    /// lines.
    ///
    /// - Throws: `invalidArgument` for a number that JSON cannot represent.
    static func line(_ value: some Encodable) throws(MediaError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
        } catch {
            throw MediaError(.invalidArgument, "a value cannot be written as JSON: \(error)")
        }
    }

    /// Decodes the value of a line.
    static func value<Value: Decodable>(_ line: String, _ path: String) throws(MediaError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(line.utf8))
        } catch {
            throw MediaError(.malformedData, "a file of the benchmark cannot be parsed: \(error)", given: path)
        }
    }
}

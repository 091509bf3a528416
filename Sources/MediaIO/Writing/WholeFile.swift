// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// A file that is written as a whole.
package final class WholeFile {
    private let file: OutputFile

    /// Writes the bytes under a temporary name.
    ///
    /// - Throws: `inputOutput` or `invalidArgument` with the path if it cannot be written.
    package init(_ bytes: [UInt8], path: String, overwrite: Bool) throws(MediaError) {
        file = try OutputFile(OutputTarget(path: path, overwrite: overwrite, inputPaths: []))
        try file.write(bytes)
    }

    /// Gives it its name.
    ///
    /// - Throws: `inputOutput`; `invalidArgument` if a file with this name was created meanwhile and may not be replaced.
    package func commit() throws(MediaError) { _ = try file.commit() }

    /// Writes a regular file, which appears under its name when it is complete and on the disk; an existing file is
    /// replaced.
    ///
    /// - Throws: `inputOutput` or `invalidArgument` with the path if it cannot be written.
    package static func write(_ bytes: [UInt8], to path: String) throws(MediaError) {
        try WholeFile(bytes, path: path, overwrite: true).commit()
    }
}

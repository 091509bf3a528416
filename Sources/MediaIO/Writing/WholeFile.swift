// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Writes complete files.
package enum WholeFile {
    /// Writes a regular file, which appears under its name when it is complete and on the disk; an existing file is
    /// replaced.
    ///
    /// - Throws: `inputOutput` or `invalidArgument` with the path if it cannot be written.
    package static func write(_ bytes: [UInt8], to path: String) throws(MediaError) {
        let file = try OutputFile(OutputTarget(path: path, overwrite: true, inputPaths: []))
        try file.write(bytes)
        _ = try file.commit()
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Files that are written at once.
package enum WholeFile {
    /// Writes a regular file, which gets its name when it is complete and on the disk; a file of that name is replaced.
    ///
    /// - Throws: `inputOutput`, `invalidArgument` if it cannot be written, with the path.
    package static func write(_ bytes: [UInt8], to path: String) throws(MediaError) {
        let file = try OutputFile(OutputTarget(path: path, overwrite: true, inputPaths: []))
        try file.write(bytes)
        _ = try file.commit()
    }
}

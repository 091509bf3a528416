// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes

/// Tells a program how far a run is: a JSON object on each line of a file, a FIFO or a pipe.
///
/// The run never waits for the reader: while a pipe is full, lines are left out.
final class ProgressFile: Sendable {
    private let descriptor: Int32

    /// Creates the file, or opens what is there to be written to.
    ///
    /// - Throws: `invalidArgument` for a file that exists: it may be anything; `inputOutput` if it cannot be opened.
    init(path: String) throws(MediaError) {
        var descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o666)
        if descriptor < 0, errno == EEXIST {
            var status = stat()
            let isFile = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            // Who passes the descriptor of a file means that file.
            guard !isFile || path.hasPrefix("/dev/fd/") else {
                throw MediaError(
                    .invalidArgument,
                    "the file for the progress exists",
                    given: path,
                    allowed: "a new file, a FIFO, or a descriptor such as /dev/fd/3"
                )
            }
            descriptor = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC)
        }
        guard descriptor >= 0 else {
            let reason = errno == ENXIO ? "nobody reads the FIFO" : String(cString: strerror(errno))
            throw MediaError(
                .inputOutput,
                "the progress cannot be written: \(reason)",
                given: path,
                call: "open",
                status: Int(errno)
            )
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Writes a line. It is left out if the reader is slow or gone, or if the disk is full.
    func write(_ progress: JSON) {
        var line = progress.line + "\n"
        // At most PIPE_BUF bytes: a pipe takes all of it or nothing.
        line.withUTF8 { bytes in _ = Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
    }
}

/// How far a run is.
protocol RunProgress: Sendable {
    /// Returns one line for people, of at most `width` columns.
    ///
    /// - Parameter elapsed: The seconds since the run began.
    func line(elapsed: Double, width: Int) -> String

    /// What programs are told; docs/command.md describes every key.
    var members: JSON.KeyValuePairs { get }
}

extension RunProgress {
    /// What programs are told, with the time since the run began.
    func document(elapsed: Double) -> JSON {
        var document: JSON.KeyValuePairs = ["elapsed": .number((elapsed * 1000).rounded() / 1000)]
        document.append(members)
        return .object(document)
    }
}

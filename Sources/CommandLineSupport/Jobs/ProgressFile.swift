// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes
internal import Synchronization

/// Tells a program how far a run is: a JSON object on each line of a file, a FIFO, a pipe or a socket.
///
/// The run never waits for the reader: while a pipe or socket is full, lines are left out.
package final class ProgressFile: Sendable {
    private let descriptor: Int32
    private let isSocket: Bool
    /// The rest of a line of which a socket has taken a part.
    private let rest = Mutex<[UInt8]>([])

    /// Creates the file, or opens what is there to be written to.
    ///
    /// - Throws: `invalidArgument` for a file that exists: it may be anything; `inputOutput` if it cannot be opened.
    package init(path: String) throws(MediaError) {
        var descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o666)
        var isSocket = false
        if descriptor < 0, errno == EEXIST {
            var status = stat()
            let kind = stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
            let inherited = path.hasPrefix("/dev/fd/") ? Int32(path.dropFirst("/dev/fd/".count)) : nil
            // A caller that passes the descriptor of a file wants that file to be written.
            guard kind != S_IFREG || inherited != nil else {
                throw MediaError(
                    .invalidArgument,
                    "the file for the progress exists",
                    given: path,
                    allowed: "a new file, a FIFO, or a descriptor such as /dev/fd/3"
                )
            }
            if kind == S_IFSOCK, let inherited {
                // Sockets cannot be opened again.
                descriptor = fcntl(inherited, F_DUPFD_CLOEXEC, 0)
                isSocket = true
            } else {
                descriptor = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC)
            }
        }
        guard descriptor >= 0 else {
            let reason = errno == ENXIO ? "no reader has opened the FIFO" : String(cString: strerror(errno))
            throw MediaError(
                .inputOutput,
                "the progress cannot be written: \(reason)",
                given: path,
                call: "open",
                status: Int(errno)
            )
        }
        (self.descriptor, self.isSocket) = (descriptor, isSocket)
    }

    deinit { close(descriptor) }

    /// Writes a line. It is left out if the reader is slow or gone, or if the disk is full.
    package func write(_ progress: JSON) {
        let line = Array((progress.line + "\n").utf8)
        rest.withLock { rest in
            if !rest.isEmpty { rest.removeFirst(send(rest)) }
            guard rest.isEmpty else { return }
            let count = send(line)
            // A pipe takes at most PIPE_BUF bytes as a whole or not at all.
            if count > 0 { rest = Array(line[count...]) }
        }
    }

    /// - Returns: The number of bytes that were taken.
    private func send(_ bytes: [UInt8]) -> Int {
        let count =
            isSocket
            ? Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            : Glibc.write(descriptor, bytes, bytes.count)
        return max(count, 0)
    }
}

/// How far a run is.
package protocol RunProgress: Sendable {
    /// Returns one line for people, of at most `width` columns.
    ///
    /// - Parameter elapsed: The seconds since the run began.
    func line(elapsed: Double, width: Int) -> String

    /// Whether something is done.
    var hasBegun: Bool { get }

    /// What programs are told; docs/command.md describes every key.
    var members: JSON.KeyValuePairs { get }
}

extension RunProgress {
    /// What programs are told, with the time since the run began.
    package func document(elapsed: Double) -> JSON {
        var document: JSON.KeyValuePairs = ["elapsed": .number((elapsed * 1000).rounded() / 1000)]
        document.append(members)
        return .object(document)
    }
}

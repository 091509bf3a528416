// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import Synchronization

/// The text of a job: what its programs have said, and what was done. Lines beyond a limit are left out.
final class JobLog: Sendable {
    private let path: String
    private let descriptor: Int32
    private let written: Mutex<Int>
    private static let limit = 4 << 20

    /// Opens the log of a job, or begins it.
    init(path: String) throws(FileError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError("open", path) }
        written = Mutex(Int(max(lseek(descriptor, 0, SEEK_END), 0)))
    }

    deinit { close(descriptor) }

    /// Adds a line with the time.
    func add(_ line: String) {
        let bytes = Array("\(UTCDate.text(Clock.now)) \(line)\n".utf8)
        written.withLock { written in
            guard written + bytes.count <= Self.limit else { return }
            written += bytes.count
            try? Files.write(bytes, to: descriptor, path)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import Logging
internal import ServiceAPI
internal import Synchronization

/// Who has changed what, and who was refused: one line of JSON for each such request, in a file that only the service's user
/// can read.
final class AuditLog: Sendable {
    /// One request.
    struct Entry: Sendable, Hashable {
        /// Seconds since 1970.
        var time: Double
        /// The ID of the request, as in the log and in the answer.
        var request: String
        /// The ID of the client's key, `link` for a signed link; empty without a key.
        var client: String
        /// The address that it came from.
        var address: String
        var method: String
        /// The path, without the query, which may have a signature.
        var path: String
        /// The status of the answer.
        var status: Int
        /// The code of the error, if there was one.
        var code: String?

        var line: String {
            var object: JSONObject = [
                "time": .string("\(Timestamp(seconds: time))"), "request": .string(request), "client": .string(client),
                "address": .string(address), "method": .string(method), "path": .string(path),
                "status": .integer(Int64(status)),
            ]
            object["code"] = code.map(JSONValue.string)
            return JSONValue.object(object).text
        }
    }

    private struct State {
        var file: Int32 = -1
        var size = 0
        var hasFailed = false
    }

    private let path: String
    private let limit: Int
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: The file. When it is full, it becomes `PATH.1`, in the place of the one before.
    ///   - limit: The largest size in bytes.
    init(path: String, limit: Int = 64 << 20, logger: Logger) {
        (self.path, self.limit, self.logger) = (path, limit, logger)
    }

    deinit {
        state.withLock { state in
            if state.file >= 0 { close(state.file) }
        }
    }

    /// Adds a line; waits for the disk. That it cannot be written, for example to a full disk, is told once in the log, and no
    /// reason to refuse requests.
    func add(_ entry: Entry) {
        let bytes = Array((entry.line + "\n").utf8)
        state.withLock { state in
            do throws(FileError) {
                try open(&state, for: bytes.count)
                try Files.write(bytes, to: state.file, path)
                state.size += bytes.count
                state.hasFailed = false
            } catch {
                if !state.hasFailed {
                    logger.error("the audit log cannot be written", metadata: ["error": "\(error)"])
                }
                state.hasFailed = true
            }
        }
    }

    private func open(_ state: inout State, for count: Int) throws(FileError) {
        if state.file < 0 { try begin(&state) }
        guard state.size > 0, state.size + count > limit else { return }
        close(state.file)
        state.file = -1
        guard rename(path, path + ".1") == 0 else { throw FileError("rename", path) }
        try begin(&state)
    }

    private func begin(_ state: inout State) throws(FileError) {
        state.file = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard state.file >= 0 else { throw FileError("open", path) }
        state.size = Int(max(lseek(state.file, 0, SEEK_END), 0))
    }
}

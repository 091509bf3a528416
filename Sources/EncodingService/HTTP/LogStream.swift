// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

/// Writes the log of a job, and on request what is added until the job ends.
struct LogStream: Sendable {
    let path: String
    let isEnded: @Sendable () async -> Bool
    let changes: ChangeSignal

    func write(to writer: inout any ResponseBodyWriter, follows: Bool) async throws {
        var position = 0
        for await _ in changes.changes(orEvery: .milliseconds(500)).cancelOnGracefulShutdown() {
            // First the state: what is written after the end of the job is not missed.
            let isLast = follows ? await isEnded() : true
            while true {
                let bytes = try await FileWork.run { [path, position] in try Self.read(path, from: position) }
                if bytes.isEmpty { break }
                position += bytes.count
                try await writer.write(ByteBuffer(bytes: bytes))
            }
            if isLast { return }
        }
    }

    private static func read(_ path: String, from position: Int) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw FileError("open", path) }
            return []
        }
        defer { close(descriptor) }
        return [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = max(pread(descriptor, buffer.baseAddress, buffer.count, off_t(position)), 0)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// The numbers of buffers whose pictures were released, on any thread, for the thread of their stream.
final class PipeWireReturns: Sendable {
    /// An `eventfd` that is readable while there are numbers.
    let descriptor: Int32
    private let numbers = Mutex<[Int]>([])

    /// - Throws: `outOfMemory` if there is no descriptor.
    init() throws(MediaError) {
        descriptor = linux_event_descriptor()
        guard descriptor < 0 else { return }
        throw MediaError(.outOfMemory, "no descriptor for a stream", call: "eventfd", status: Int(errno))
    }

    deinit { close(descriptor) }

    /// Gives a buffer back.
    func give(_ number: Int) {
        numbers.withLock { $0.append(number) }
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// Takes all numbers.
    func take() -> [Int] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
        return numbers.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// The memory of a memfd, mapped into this process until its last reference is released.
final class SharedMapping: @unchecked Sendable {
    /// The access to the memory.
    enum Access { case read, readWrite }

    /// The maximum size of a mapping, far above any picture or ring.
    static let maximumByteCount = 1 << 33

    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// Maps memory that the other process has sent.
    ///
    /// - Throws: `malformedData` if it is not a memfd of at least that size with a sealed size, because access to
    ///   truncated memory kills a process; `outOfMemory`.
    init(_ descriptor: borrowing Descriptor, byteCount: Int, access: Access) throws(MediaError) {
        var file = stat()
        // -1, which has all bits set, for a file that does not support seals.
        let seals = linux_get_seals(descriptor.number)
        let isSealed = seals >= 0 && seals & linux_seals_of_size() == linux_seals_of_size()
        guard (1...Self.maximumByteCount).contains(byteCount), isSealed, fstat(descriptor.number, &file) == 0,
            file.st_size >= byteCount
        else {
            throw MediaError(
                .malformedData,
                "the received descriptor is not shared memory of the stated size",
                given: "\(byteCount) bytes"
            )
        }
        let protection = access == .read ? PROT_READ : PROT_READ | PROT_WRITE
        guard let base = mmap(nil, byteCount, protection, MAP_SHARED, descriptor.number, 0), base != MAP_FAILED else {
            throw systemError("mmap", "shared memory cannot be mapped")
        }
        self.base = base
        self.byteCount = byteCount
    }

    deinit { munmap(base, byteCount) }

    /// Creates a memfd with a fixed size.
    ///
    /// - Parameters:
    ///   - name: The name that `/proc` shows.
    ///   - allowsSeals: Whether other seals than those of the size may follow.
    static func makeMemory(
        named name: String,
        byteCount: Int,
        allowsSeals: Bool = false
    ) throws(MediaError) -> Descriptor {
        let number = linux_memfd_create(name)
        guard number >= 0 else { throw systemError("memfd_create", "shared memory cannot be created") }
        let descriptor = Descriptor(owning: number)
        guard ftruncate(number, byteCount) == 0 else {
            throw systemError("ftruncate", "shared memory cannot be created")
        }
        guard (allowsSeals ? linux_fix_size(number) : linux_seal_size(number)) == 0 else {
            throw systemError("fcntl(F_ADD_SEALS)", "memory cannot be sealed")
        }
        return descriptor
    }
}

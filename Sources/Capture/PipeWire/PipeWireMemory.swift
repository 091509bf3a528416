// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import Glibc
internal import MediaTypes

/// The memory of one buffer of a stream. It stays valid until the last picture in it is released, also after the stream
/// has ended.
final class PipeWireMemory: @unchecked Sendable {
    /// How the memory is used.
    enum Kind: Sendable, Hashable {
        /// DMA-BUFs, by their descriptors.
        case dmaBuf
        /// Memory files of a size that is sealed, or memory of a device, mapped here: the source cannot take it away.
        case mapped
        /// Memory files that the source could shorten, which would end a process that has them mapped. They are read as
        /// files, and the pictures are copies.
        case file
        /// Memory of the client library, which frees it with the buffer. The pictures are copies.
        case borrowed
    }

    let kind: Kind
    /// The descriptors of the files, each once; empty for borrowed memory.
    private(set) var descriptors: [Int32] = []
    /// The index in ``descriptors`` of each block's file.
    private var files: [Int] = []
    /// The addresses of the blocks, for borrowed and mapped memory.
    private(set) var addresses: [UnsafeMutableRawPointer] = []
    private var mappings: [UnsafeMutableRawBufferPointer] = []

    /// Takes the memory of a buffer.
    ///
    /// - Throws: `unsupported` for a type of memory, or a number of blocks, that was not asked for; `outOfMemory`.
    init(_ blocks: [pipewire_block]) throws(MediaError) {
        let types = Set(blocks.map(\.type))
        guard let type = types.first, types.count == 1 else {
            throw Self.wrong("\(blocks.count) blocks of \(types.count) types")
        }
        switch type {
        case SPA_DATA_MemPtr.rawValue:
            addresses = blocks.compactMap(\.address)
            guard addresses.count == blocks.count else { throw Self.wrong("no address") }
            kind = .borrowed
            return
        case SPA_DATA_DmaBuf.rawValue:
            kind = .dmaBuf
        case SPA_DATA_MemFd.rawValue:
            let areLasting = blocks.allSatisfy { pipewire_is_lasting($0.descriptor) != 0 }
            kind = areLasting ? .mapped : .file
        default:
            throw Self.wrong("type \(type)")
        }
        for block in blocks {
            files.append(try file(of: block))
            if kind == .mapped { try map(block) }
        }
    }

    /// The index of the file of a block, of which a descriptor is kept.
    private func file(of block: pipewire_block) throws(MediaError) -> Int {
        if let index = descriptors.firstIndex(where: { pipewire_is_same($0, block.descriptor) != 0 }) { return index }
        let copy = fcntl(block.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw MediaError(
                .outOfMemory,
                "no descriptor for the memory of a picture",
                call: "fcntl(F_DUPFD_CLOEXEC)",
                status: Int(errno)
            )
        }
        descriptors.append(copy)
        return descriptors.count - 1
    }

    deinit {
        for mapping in mappings { munmap(mapping.baseAddress, mapping.count) }
        for descriptor in descriptors { close(descriptor) }
    }

    private static func wrong(_ given: String) -> MediaError {
        MediaError(
            .unsupported,
            "the source delivers pictures in another kind of memory",
            given: given,
            allowed: "memory files, mapped memory or DMA-BUFs"
        )
    }

    private func map(_ block: pipewire_block) throws(MediaError) {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let start = Int(block.map_offset) / page * page
        let length = Int(block.map_offset) - start + Int(block.byte_count)
        let end = pipewire_file_size(block.descriptor)
        guard length > 0, end < 0 || start + length <= end else {
            throw MediaError(
                .malformedData,
                "the memory of a picture is smaller than stated",
                given: "\(end) bytes",
                allowed: "\(start + length)"
            )
        }
        // Pictures are only read, but the planes of a picture are declared as writable memory.
        var base = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, block.descriptor, start)
        if base == MAP_FAILED { base = mmap(nil, length, PROT_READ, MAP_SHARED, block.descriptor, start) }
        guard let base, base != MAP_FAILED else {
            throw MediaError(.outOfMemory, "the memory of a picture cannot be mapped", call: "mmap", status: Int(errno))
        }
        mappings.append(UnsafeMutableRawBufferPointer(start: base, count: length))
        addresses.append(base + (Int(block.map_offset) - start))
    }

    /// The part of a block's memory before the block: only descriptors begin before it.
    private func base(_ block: pipewire_block) -> Int { kind == .file || kind == .dmaBuf ? Int(block.map_offset) : 0 }

    /// Makes a picture in the memory, without a copy.
    ///
    /// - Parameters:
    ///   - blocks: The blocks of ``layout``.
    ///   - release: Called when the picture is released, on any thread, but not if this method throws.
    func picture(
        _ description: PixelBuffer.Description,
        _ layout: PipeWireLayout,
        _ blocks: [pipewire_block],
        modifier: UInt64,
        release: @escaping @Sendable () -> Void
    ) throws(MediaError) -> PixelBuffer {
        let planes = layout.planes
        let keep: @Sendable () -> Void = { withExtendedLifetime(self) { release() } }
        switch kind {
        case .dmaBuf:
            let moved = planes.map { plane in
                var plane = plane
                plane.layout.offset += base(blocks[plane.object])
                plane.object = files[plane.object]
                return plane
            }
            let buffer = DMABuffer(fileDescriptors: descriptors, planes: moved, modifier: modifier)
            return try PixelBuffer(description, dmaBuf: buffer, release: keep)
        case .mapped, .borrowed:
            let mapped = planes.map {
                PixelPlane(baseAddress: addresses[$0.object] + $0.layout.offset, bytesPerRow: $0.layout.bytesPerRow)
            }
            return try PixelBuffer(description, planes: mapped, release: keep)
        case .file:
            guard descriptors.count == 1 else {
                throw Self.wrong("several memory files that are not sealed")
            }
            let inFile = planes.map {
                PlaneLayout(
                    offset: $0.layout.offset + base(blocks[$0.object]),
                    bytesPerRow: $0.layout.bytesPerRow
                )
            }
            return try PixelBuffer(
                description,
                file: FilePicture(fileDescriptor: descriptors[0], planes: inFile),
                release: keep
            )
        }
    }
}

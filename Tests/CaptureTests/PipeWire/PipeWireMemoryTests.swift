// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import CPipeWire
import Glibc
import MediaTypes
import Testing

@testable import Capture

@Suite("The memory of PipeWire's buffers", .blocks)
struct PipeWireMemoryTests {
    /// A memory file of 64 KiB whose byte n is n mod 251, closed with the last reference.
    private final class File {
        let descriptor = linux_memfd_create("vatoolbox-test")

        init() {
            let bytes = (0..<65536).map { UInt8($0 % 251) }
            #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        }

        deinit { close(descriptor) }

        func block(_ type: spa_data_type, at offset: UInt32, _ byteCount: UInt32) -> pipewire_block {
            var block = pipewire_block()
            (block.type, block.descriptor) = (type.rawValue, descriptor)
            (block.map_offset, block.byte_count, block.filled) = (offset, byteCount, byteCount)
            block.bytes_per_row = 64
            return block
        }
    }

    private func picture(_ memory: PipeWireMemory, _ blocks: [pipewire_block]) throws -> PixelBuffer {
        let layout = try PipeWireLayout(
            .nv12,
            width: 64,
            height: 32,
            blocks: blocks.map { .init(offset: Int($0.offset), bytesPerRow: 64, byteCount: Int($0.byte_count)) }
        )
        let description = PixelBuffer.Description(format: .nv12, width: 64, height: 32)
        return try memory.picture(description, layout, blocks, modifier: 0) {}
    }

    /// The first byte of each plane.
    private func firstBytes(_ picture: PixelBuffer) throws -> [Int] {
        try picture.withPlanes { planes in planes.map { Int($0.baseAddress.load(as: UInt8.self)) } }
    }

    @Test("is one DMA-BUF if all blocks are in it")
    func shared() throws {
        let file = File()
        let blocks = [file.block(SPA_DATA_DmaBuf, at: 0, 4096), file.block(SPA_DATA_DmaBuf, at: 8192, 4096)]
        let memory = try PipeWireMemory(blocks)
        let picture = try picture(memory, blocks)
        guard case .dmaBuf(let buffer) = picture.storage else {
            Issue.record("not a DMA-BUF")
            return
        }
        #expect(buffer.fileDescriptors.count == 1 && buffer.planes.map(\.object) == [0, 0])
        #expect(try firstBytes(picture) == [0, 8192 % 251])
    }

    @Test("is several DMA-BUFs otherwise")
    func separate() throws {
        let (first, second) = (File(), File())
        let blocks = [first.block(SPA_DATA_DmaBuf, at: 0, 4096), second.block(SPA_DATA_DmaBuf, at: 4096, 4096)]
        let picture = try picture(PipeWireMemory(blocks), blocks)
        guard case .dmaBuf(let buffer) = picture.storage else {
            Issue.record("not a DMA-BUF")
            return
        }
        #expect(buffer.fileDescriptors.count == 2 && buffer.planes.map(\.object) == [0, 1])
    }

    @Test("is mapped at any offset if its size is sealed, and read as a file otherwise", arguments: [true, false])
    func memoryFile(isSealed: Bool) throws {
        let file = File()
        if isSealed { #expect(linux_seal_size(file.descriptor) == 0) }
        let blocks = [file.block(SPA_DATA_MemFd, at: 100, 4096), file.block(SPA_DATA_MemFd, at: 9000, 4096)]
        let memory = try PipeWireMemory(blocks)
        #expect(memory.kind == (isSealed ? .mapped : .file))
        #expect(try firstBytes(picture(memory, blocks)) == [100, 9000 % 251])
    }

    @Test("is refused if it ends before the block, or is of another kind")
    func wrong() throws {
        let file = File()
        #expect(linux_seal_size(file.descriptor) == 0)
        let blocks = [
            [file.block(SPA_DATA_MemFd, at: 65000, 4096)], [file.block(SPA_DATA_MemFd, at: 0, 0)],
            [file.block(SPA_DATA_MemId, at: 0, 4096)], [file.block(SPA_DATA_MemPtr, at: 0, 4096)], [],
            [file.block(SPA_DATA_MemFd, at: 0, 4096), file.block(SPA_DATA_DmaBuf, at: 0, 4096)],
        ]
        for blocks in blocks { #expect(throws: MediaError.self) { try PipeWireMemory(blocks) } }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import MediaTypes
import Testing

/// Pictures whose samples lie in a file or a DMA-BUF.
@Suite struct FetchedSamplesTests {
    /// A memfd, which plays a file and a DMA-BUF.
    private final class Memory {
        let descriptor: Int32
        let bytes: [UInt8]

        init(byteCount: Int) throws {
            descriptor = linux_memfd_create("vatoolbox-test")
            try #require(descriptor >= 0)
            bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            #expect(pwrite(descriptor, bytes, byteCount, 0) == byteCount)
        }

        deinit { close(descriptor) }
    }

    // Rows of the memory are longer than those of the picture, and longer than those of the copy.
    private static let planes = [
        PlaneLayout(offset: 100, bytesPerRow: 96), PlaneLayout(offset: 100 + 96 * 34, bytesPerRow: 80),
    ]
    private static let description = PixelBuffer.Description(format: .nv12, width: 66, height: 34)

    private func rows(_ bytes: (Int) -> UInt8, _ layouts: [PlaneLayout]) -> [UInt8] {
        zip(layouts, [34, 17]).flatMap { layout, rows in
            (0..<rows).flatMap { row in (0..<66).map { bytes(layout.offset + row * layout.bytesPerRow + $0) } }
        }
    }

    private func samples(_ planes: [PixelPlane]) -> [UInt8] {
        zip(planes, [34, 17]).flatMap { plane, rows in
            (0..<rows).flatMap { row in
                (0..<66).map { plane.baseAddress.load(fromByteOffset: row * plane.bytesPerRow + $0, as: UInt8.self) }
            }
        }
    }

    private func buffers(_ memory: Memory) throws -> [PixelBuffer] {
        let file = FilePicture(fileDescriptor: memory.descriptor, planes: Self.planes)
        let dmaBuf = DMABuffer(
            fileDescriptors: [memory.descriptor],
            planes: Self.planes.map { DMABuffer.Plane(object: 0, layout: $0) },
            modifier: 0
        )
        return [
            try PixelBuffer(Self.description, file: file, release: {}),
            try PixelBuffer(Self.description, dmaBuf: dmaBuf, release: {}),
        ]
    }

    @Test func everybodyCanReadThem() throws {
        let memory = try Memory(byteCount: 8192)
        for buffer in try buffers(memory) {
            #expect(buffer.isMapped)
            let expected = rows({ memory.bytes[$0] }, Self.planes)
            for _ in 0..<2 { #expect(try buffer.withPlanes { planes in samples(planes) } == expected) }
        }
    }

    @Test(arguments: [96, 128, 97], [false, true])
    func copies(bytesPerRow: Int, isForDevice: Bool) throws {
        let memory = try Memory(byteCount: 8192)
        let target = UnsafeMutableRawBufferPointer.allocate(byteCount: bytesPerRow * 51, alignment: 64)
        defer { target.deallocate() }
        let base = try #require(target.baseAddress)
        let planes = [0, bytesPerRow * 34].map { PixelPlane(baseAddress: base + $0, bytesPerRow: bytesPerRow) }
        for buffer in try buffers(memory) {
            target.initializeMemory(as: UInt8.self, repeating: 0xEE)
            try buffer.copySamples(to: planes, isForDevice: isForDevice)
            #expect(samples(planes) == rows({ memory.bytes[$0] }, Self.planes))
        }
    }

    @Test func aFileThatHasBecomeShorterIsAnError() throws {
        let memory = try Memory(byteCount: 8192)
        let buffer = try buffers(memory)[0]
        #expect(ftruncate(memory.descriptor, 3000) == 0)
        let error = #expect(throws: MediaError.self) { try buffer.withPlanes { _ throws(MediaError) in } }
        #expect(error?.code == .inputOutput && error?.isPermanent == true)
    }

    @Test func aDMABufThatIsTooSmallIsAnError() throws {
        let memory = try Memory(byteCount: 8192)
        let buffer = try buffers(memory)[1]
        #expect(ftruncate(memory.descriptor, 3000) == 0)
        let error = #expect(throws: MediaError.self) { try buffer.withPlanes { _ throws(MediaError) in } }
        #expect(error?.code == .invalidArgument)
    }

    @Test(arguments: [-1, Int.max])
    func aPlaceOutsideOfAnyFileIsRefused(offset: Int) {
        let plane = PlaneLayout(offset: offset, bytesPerRow: 96)
        #expect(throws: MediaError.self) {
            try PixelBuffer(
                Self.description,
                file: FilePicture(fileDescriptor: 0, planes: [plane, plane]),
                release: {}
            )
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Glibc
import MediaTypes
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Pictures in DMA-BUFs reach the encoder in the helper as descriptors, and nothing of them is copied. A memfd plays
    /// the DMA-BUF, which exists with a device only; to the protocol both are descriptors of memory.
    @Suite struct DMABufferTests {
        private let factory: RemoteEncoderFactory

        init() throws {
            let identity = EncoderIdentity(name: "none-encoding", codec: .h264)
            factory = RemoteEncoderFactory(identity, pool: try HelperPrograms.pool("FaultyHelper"))
        }

        /// A file whose first byte, and byte 4096, are as given.
        private func object(_ first: UInt8, _ second: UInt8) throws -> Descriptor {
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-test", byteCount: 8192)
            for (value, offset) in [(first, 0), (second, 4096)] {
                var byte = value
                #expect(pwrite(memory.number, &byte, 1, offset) == 1)
            }
            return memory
        }

        private func picture(
            _ descriptors: [Int32],
            _ planes: [DMABuffer.Plane],
            release: @escaping @Sendable () -> Void = {}
        ) throws -> PixelBuffer {
            let description = PixelBuffer.Description(format: .nv12, width: 64, height: 64)
            let memory = DMABuffer(fileDescriptors: descriptors, planes: planes, modifier: 0x7B)
            return try PixelBuffer(description, dmaBuf: memory, release: release)
        }

        @Test func theDescriptorsArePassedOn() throws {
            let take = try Take(factory, .small(width: 64, height: 64))
            let one = try object(11, 12)
            let two = try object(21, 22)
            let both = PlaneLayout(offset: 4096, bytesPerRow: 64)
            let first = PlaneLayout(offset: 0, bytesPerRow: 64)
            let together = [DMABuffer.Plane(object: 0, layout: first), .init(object: 0, layout: both)]
            let apart = [DMABuffer.Plane(object: 1, layout: both), .init(object: 0, layout: first)]
            try take.encode(picture([one.number], together))
            try take.encode(picture([one.number, two.number], apart))
            let coded = take.outputs.frames.map { frame in frame.data.withUnsafeBytes { Array($0.dropFirst(5)) } }
            #expect(coded == [[11, 12, 0x7B], [22, 11, 0x7B]])
            #expect(take.remote?.copiedPictures == 0)
            one.keepOpen()
            two.keepOpen()
        }

        /// The caller's descriptors are held until the encoder has done with them, and no longer.
        @Test func thePictureIsReleased() async throws {
            let take = try Take(factory, .small(width: 64, height: 64))
            let memory = try object(1, 2)
            let plane = PlaneLayout(offset: 0, bytesPerRow: 64)
            let planes = [DMABuffer.Plane(object: 0, layout: plane), .init(object: 0, layout: plane)]
            await confirmation { released in
                await withCheckedContinuation { continuation in
                    #expect(throws: Never.self) {
                        try take.encode(
                            picture([memory.number], planes) {
                                released()
                                continuation.resume()
                            }
                        )
                    }
                }
            }
            memory.keepOpen()
        }

        @Test func whatIsNoPictureIsRefused() throws {
            let memory = try object(1, 2)
            let layout = PlaneLayout(offset: 0, bytesPerRow: 64)
            let plane = DMABuffer.Plane(object: 0, layout: layout)
            let places: [PicturePlace] = [
                // The memory is not mapped.
                .memory(slot: 0, planes: [layout, layout]),
                .dmaBuf(slots: [1], planes: [plane], modifier: 0),
                .dmaBuf(slots: [0], planes: [plane], modifier: 0),
                .dmaBuf(slots: [], planes: [plane, plane], modifier: 0),
            ]
            for place in places {
                var pictures = PictureMemory()
                try pictures.add(.descriptor(.init(try Descriptor.duplicate(memory.number))), slot: 0)
                var order = FrameOrder.blank
                order.picture = PixelBuffer.Description(format: .nv12, width: 64, height: 64)
                order.place = place
                #expect(throws: MediaError.self) { try pictures.picture(order) { Issue.record("released") } }
            }
        }
    }
}

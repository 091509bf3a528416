// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Transcoding

/// How many pictures of a decoder a job keeps in the decoder's memory.
@Suite struct HeldPicturesTests {
    private func picture(_ pool: PixelBufferPool, _ value: UInt8) throws -> PixelBuffer {
        let picture = try pool.make(
            color: ColorDescription(primaries: .bt709),
            attachments: PixelAttachments(captions: [value])
        )
        try picture.withPlanes { planes in planes.forEach { $0.baseAddress.storeBytes(of: value, as: UInt8.self) } }
        return picture
    }

    private func pool(_ memory: PixelBufferPool.Memory) throws -> PixelBufferPool {
        try PixelBufferPool(.init(format: .nv12, width: 64, height: 48), memory: memory)
    }

    @Test func picturesBeyondTheLimitAreCopied() throws {
        let (held, pool) = (HeldPictures(limit: 2), try pool(.shared))
        let originals = try (0..<4).map { try picture(pool, UInt8($0)) }
        let admitted = try originals.map { try held.admit($0) }
        #expect(admitted[0] === originals[0] && admitted[1] === originals[1])
        #expect(admitted[2] !== originals[2] && admitted[3] !== originals[3])
        #expect(held.copies == 2)
        for (index, copy) in admitted.enumerated() {
            #expect(copy.pictureDescription == originals[index].pictureDescription)
            #expect(try copy.withPlanes { $0[0].baseAddress.load(as: UInt8.self) } == UInt8(index))
        }
    }

    @Test func releasedPicturesMakeRoom() throws {
        let (held, pool) = (HeldPictures(limit: 1), try pool(.shared))
        for index in 0..<5 {
            let original = try picture(pool, UInt8(index))
            #expect(try held.admit(original) === original)
        }
        #expect(held.copies == 0)
    }

    @Test func memoryOfThisProcessIsNotCounted() throws {
        let (held, pool) = (HeldPictures(limit: 1), try pool(.owned))
        let originals = try (0..<3).map { try picture(pool, UInt8($0)) }
        #expect(try originals.allSatisfy { try held.admit($0) === $0 })
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes

/// The DMA-BUFs of pictures, read without a driver.
struct Exports {
    private let pictures: [DecodedPicture]
    private let expected: [DecodedPicture]

    /// - Parameters:
    ///   - pictures: Pictures in surfaces.
    ///   - expected: The same pictures in memory.
    init(_ pictures: [DecodedPicture], _ expected: [DecodedPicture]) {
        self.pictures = pictures
        self.expected = expected
    }

    /// Says how many pictures are as expected, what memory they were in, and why others were not exported.
    func report() throws {
        var equal = 0
        var layouts: Set<String> = []
        var refusals: [String] = []
        for (picture, expected) in zip(pictures, expected) {
            do throws(MediaError) {
                let exported = try picture.buffer.exportDMABuf()
                guard case .dmaBuf(let memory) = exported.storage else { continue }
                let modifier = String(memory.modifier, radix: 16)
                layouts.insert("\(memory.fileDescriptors.count) objects, modifier 0x\(modifier)")
                let isSame = exported.pictureDescription == picture.buffer.pictureDescription
                if isSame, try isEqual(exported, memory, expected.buffer) { equal += 1 }
            } catch {
                let refusal = "refused \(error.code): \(error)"
                if refusals.last != refusal { refusals.append(refusal) }
            }
        }
        for refusal in refusals { print(refusal) }
        print("exported \(equal) of \(expected.count): \(layouts.sorted().joined(separator: "; "))")
    }

    private func isEqual(
        _ exported: PixelBuffer,
        _ memory: DMABuffer,
        _ expected: PixelBuffer
    ) throws(MediaError) -> Bool {
        do {
            return try DecoderScenarios.isEqual(memory.isLinear ? exported : linear(exported, memory), expected)
        } catch {
            throw error as? MediaError ?? MediaError(.inputOutput, "\(error)")
        }
    }

    /// Returns a copy of a picture in tiles of 512 bytes by 8 rows (`I915_FORMAT_MOD_X_TILED`).
    private func linear(_ exported: PixelBuffer, _ memory: DMABuffer) throws(MediaError) -> PixelBuffer {
        guard memory.modifier == 0x0100_0000_0000_0001 else {
            throw MediaError(.unsupported, "no such modifier", given: "\(memory.modifier)")
        }
        let copy = try PixelBuffer(exported.pictureDescription)
        let file = FileHandle(fileDescriptor: memory.fileDescriptors[0], closeOnDealloc: false)
        guard (try? file.seek(toOffset: 0)) != nil, let data = try? file.readToEnd() else {
            throw MediaError(.inputOutput, "the memory cannot be read")
        }
        let tiles = [UInt8](data)
        try copy.withPlanes { planes in
            for (plane, (target, extent)) in zip(memory.planes, zip(planes, copy.planeExtents)) {
                for row in 0..<extent.rows {
                    for column in 0..<extent.bytesPerRow {
                        let band = plane.layout.offset + row / 8 * plane.layout.bytesPerRow * 8
                        let byte = tiles[band + column / 512 * 4096 + row % 8 * 512 + column % 512]
                        (target.baseAddress + row * target.bytesPerRow)
                            .storeBytes(of: byte, toByteOffset: column, as: UInt8.self)
                    }
                }
            }
        }
        return copy
    }
}

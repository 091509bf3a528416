// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Memory for the components of pictures whose layout x265 does not support: it reads planes with samples in the lower
/// bits of their words. The memory is reused from frame to frame.
final class PlanarStaging {
    private static let alignment = 64

    private let arrangement: SampleArrangement
    private var memory: [Int: UnsafeMutableRawPointer] = [:]

    /// Allocates the memory.
    ///
    /// - Parameter configuration: The configuration of the encoder, with an even size.
    init(_ configuration: EncoderConfiguration) {
        arrangement = .planar(configuration.chromaFormat, bitDepth: configuration.bitDepth)
    }

    deinit { for block in memory.values { block.deallocate() } }

    /// Returns the planes of luma, Cb and Cr. Planes that x265 can read are used in place, the others are copied.
    func planar(_ picture: PictureComponents) -> [ComponentPlane] {
        picture.planes.enumerated().map { index, plane in
            if plane.isPlain { return plane }
            let staged = staged(index, like: plane)
            plane.write(to: staged, bitDepth: arrangement.bitDepth)
            return staged
        }
    }

    private func staged(_ index: Int, like plane: ComponentPlane) -> ComponentPlane {
        let size = arrangement.luma.wordSize
        let bytesPerRow = (plane.width * size + Self.alignment - 1) / Self.alignment * Self.alignment
        let block =
            memory[index]
            ?? .allocate(byteCount: bytesPerRow * plane.height, alignment: Self.alignment)
        memory[index] = block
        return ComponentPlane(
            base: block,
            bytesPerRow: bytesPerRow,
            step: size,
            wordSize: size,
            width: plane.width,
            height: plane.height
        )
    }
}

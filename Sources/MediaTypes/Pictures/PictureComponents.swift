// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
internal import CPixelKernels

/// The samples of one component of a picture in memory. It does not own the memory.
package struct ComponentPlane {
    /// The address of the word with the first sample.
    package var base: UnsafeMutableRawPointer
    /// The row stride in bytes.
    package var bytesPerRow: Int
    /// The distance between adjacent samples of a row in bytes.
    package var step: Int
    /// The size in bytes of the word that holds a sample: 1, 2 or 4.
    package var wordSize: Int
    /// The number of bits of the word below the sample.
    package var shift: Int
    /// The number of samples in a row.
    package var width: Int
    /// The number of rows.
    package var height: Int

    /// Makes a component plane.
    package init(
        base: UnsafeMutableRawPointer,
        bytesPerRow: Int,
        step: Int,
        wordSize: Int,
        shift: Int = 0,
        width: Int,
        height: Int
    ) {
        (self.base, self.bytesPerRow, self.step) = (base, bytesPerRow, step)
        (self.wordSize, self.shift, self.width, self.height) = (wordSize, shift, width, height)
    }

    /// Whether the samples are contiguous, each in a word of its own, as libraries accept planes.
    package var isPlain: Bool { step == wordSize && shift == 0 && wordSize <= 2 }

    /// Returns the samples in a rectangle of this plane.
    package func part(x: Int, y: Int, width: Int, height: Int) -> ComponentPlane {
        var part = self
        part.base = base + y * bytesPerRow + x * step
        (part.width, part.height) = (width, height)
        return part
    }

    /// Copies samples of the given bit depth unchanged into another plane of the same size.
    package func write(to target: ComponentPlane, bitDepth: Int) {
        withUnsafePointer(to: samples) { source in
            withUnsafePointer(to: target.samples) { target in
                pixel_kernel_move_samples(source, target, width, height, UInt32(truncatingIfNeeded: 1 << bitDepth - 1))
            }
        }
    }

    /// Sets all samples, of the given bit depth, to one code.
    package func fill(_ code: Int, bitDepth: Int) {
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 1) { word in
            guard let address = word.baseAddress else { return }
            address.initialize(to: UInt16(truncatingIfNeeded: code))
            let source = ComponentPlane(
                base: UnsafeMutableRawPointer(address),
                bytesPerRow: 0,
                step: 0,
                wordSize: 2,
                width: width,
                height: height
            )
            source.write(to: self, bitDepth: bitDepth)
        }
    }

    private var samples: pixel_kernel_samples {
        pixel_kernel_samples(base: base, stride: bytesPerRow, step: step, word_size: wordSize, shift: UInt32(shift))
    }
}

/// The samples of a picture as one plane per component, for any layout in memory. It does not own the memory.
package struct PictureComponents {
    /// The chroma subsampling.
    package let chromaFormat: ChromaFormat
    /// The bit depth of the samples.
    package let bitDepth: Int
    /// The width in luma samples.
    package let width: Int
    /// The height in luma samples.
    package let height: Int
    /// The planes of luma, Cb and Cr, or of green, blue and red.
    package let planes: [ComponentPlane]
    private let alpha: ComponentPlane?
    private let alphaDepth: Int

    /// Finds the components of a picture.
    ///
    /// - Parameters:
    ///   - arrangement: The arrangement of its samples in memory.
    ///   - planes: The planes of the arrangement, each large enough for the size.
    package init(_ arrangement: SampleArrangement, width: Int, height: Int, planes: [PixelPlane]) {
        let chroma = arrangement.chromaFormat
        func component(_ component: SampleArrangement.Component, isLuma: Bool) -> ComponentPlane {
            let (across, down) =
                isLuma ? (1, 1) : (chroma.horizontalSubsampling, chroma.verticalSubsampling)
            return ComponentPlane(
                base: planes[component.plane].baseAddress + component.offset,
                bytesPerRow: planes[component.plane].bytesPerRow,
                step: component.step,
                wordSize: component.wordSize,
                shift: component.shift,
                width: (width + across - 1) / across,
                height: (height + down - 1) / down
            )
        }
        self.init(
            chroma,
            bitDepth: arrangement.bitDepth,
            width: width,
            height: height,
            planes: [
                component(arrangement.luma, isLuma: true), component(arrangement.cb, isLuma: false),
                component(arrangement.cr, isLuma: false),
            ],
            alpha: arrangement.alpha.map { component($0, isLuma: true) },
            alphaDepth: arrangement.alphaDepth
        )
    }

    /// Makes a picture of the given planes: luma, Cb and Cr.
    package init(
        _ chromaFormat: ChromaFormat,
        bitDepth: Int,
        width: Int,
        height: Int,
        planes: [ComponentPlane],
        alpha: ComponentPlane? = nil,
        alphaDepth: Int = 0
    ) {
        (self.chromaFormat, self.bitDepth, self.planes) = (chromaFormat, bitDepth, planes)
        (self.width, self.height, self.alpha, self.alphaDepth) = (width, height, alpha, alphaDepth)
    }

    /// Returns the samples in an area with an even position.
    package func cropped(to area: PictureArea) -> PictureComponents {
        func part(_ plane: ComponentPlane, _ across: Int, _ down: Int) -> ComponentPlane {
            plane.part(
                x: area.x / across,
                y: area.y / down,
                width: (area.width + across - 1) / across,
                height: (area.height + down - 1) / down
            )
        }
        let (across, down) = (chromaFormat.horizontalSubsampling, chromaFormat.verticalSubsampling)
        return PictureComponents(
            chromaFormat,
            bitDepth: bitDepth,
            width: area.width,
            height: area.height,
            planes: planes.enumerated().map { index, plane in
                index == 0 ? part(plane, 1, 1) : part(plane, across, down)
            },
            alpha: alpha.map { part($0, 1, 1) },
            alphaDepth: alphaDepth
        )
    }

    /// Copies all samples unchanged into a picture of the same size, chroma format and bit depth.
    package func write(to target: PictureComponents) {
        for (source, target) in zip(planes, target.planes) { source.write(to: target, bitDepth: bitDepth) }
        target.fillAlpha()
    }

    /// Sets all alpha samples to all ones.
    package func fillAlpha() { alpha?.fill(1 << alphaDepth - 1, bitDepth: alphaDepth) }

    /// Sets all samples to one colour.
    ///
    /// - Parameters:
    ///   - luma: The luma code at the bit depth.
    ///   - chroma: The code of Cb and Cr at the bit depth.
    package func fill(luma: Int, chroma: Int) {
        for (index, plane) in planes.enumerated() { plane.fill(index == 0 ? luma : chroma, bitDepth: bitDepth) }
        fillAlpha()
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibYUV
internal import CPixelKernels
internal import Glibc
public import MediaTypes

/// The difference between two pictures of the same size and bit depth.
public struct PictureDifference: Sendable, Hashable {
    /// The difference between two planes.
    public struct Plane: Sendable, Hashable {
        /// The sum of the squared differences of all samples, in codes of the pictures' bit depth.
        public let squaredError: UInt64
        /// The number of samples.
        public let sampleCount: Int
        /// The mean structural similarity (SSIM) of windows of 8x8 samples at a distance of 4, -1...1; `nil` for planes
        /// without such a window.
        public let similarity: Double?

        /// Makes a difference.
        public init(squaredError: UInt64, sampleCount: Int, similarity: Double?) {
            self.squaredError = squaredError
            self.sampleCount = sampleCount
            self.similarity = similarity
        }

        /// Returns the peak signal-to-noise ratio in decibels; infinity for equal samples.
        ///
        /// - Parameter bitDepth: The bit depth of the samples.
        public func psnr(bitDepth: Int) -> Double {
            let peak = Double(1 << bitDepth - 1)
            return 10 * log10(peak * peak * Double(sampleCount) / Double(squaredError))
        }
    }

    /// The difference of luma.
    public let luma: Plane
    /// The difference of Cb.
    public let cb: Plane
    /// The difference of Cr.
    public let cr: Plane

    /// Makes a difference.
    public init(luma: Plane, cb: Plane, cr: Plane) {
        self.luma = luma
        self.cb = cb
        self.cr = cr
    }
}

/// Compares 4:2:0 pictures sample by sample: NV12 and I420 with each other, P010 with P010.
///
/// Squared errors of 8-bit samples are computed by libyuv. The kernels compute everything else: libyuv does not compare
/// 10-bit pictures, and its structural similarity, which omits windows at the edges and has other constants, differs
/// from the values of FFmpeg and x264. Memory is allocated for the first pictures and reused; a comparator is used by
/// one thread at a time.
public final class PictureComparator {
    private let first = ScratchPicture()
    private let second = ScratchPicture()

    /// Makes a comparator.
    public init() {}

    /// Compares two pictures.
    ///
    /// Only the samples are compared, not the colour descriptions: the caller has to ensure that both are the same.
    ///
    /// - Throws: `invalidArgument` with both pictures' properties if their sizes or bit depths differ; `unsupported`
    ///   for formats other than 4:2:0, or samples that the CPU cannot access; `outOfMemory`, `inputOutput`.
    public func difference(of picture: PixelBuffer, from reference: PixelBuffer) throws(MediaError) -> PictureDifference
    {
        let layouts = (try Self.layout(picture), try Self.layout(reference))
        let isAlike =
            picture.width == reference.width && picture.height == reference.height
            && picture.format.bitDepth == reference.format.bitDepth
        guard isAlike else {
            throw MediaError(
                .invalidArgument,
                "the compared pictures have different sizes or depths",
                given: picture.shape,
                allowed: reference.shape
            )
        }
        return try picture.withPlanes { planes throws(MediaError) in
            try reference.withPlanes { referencePlanes throws(MediaError) in
                let left = try Self.planar(PlanarPicture(layouts.0, picture, planes), first)
                let right = try Self.planar(PlanarPicture(layouts.1, reference, referencePlanes), second)
                return PictureDifference(
                    luma: try left.difference(left.luma, right.luma, left.width, left.height),
                    cb: try left.difference(left.cb, right.cb, left.chromaWidth, left.chromaHeight),
                    cr: try left.difference(left.cr, right.cr, left.chromaWidth, left.chromaHeight)
                )
            }
        }
    }

    private static func layout(_ picture: PixelBuffer) throws(MediaError) -> SampleLayout {
        if let layout = SampleLayout(picture.format) { return layout }
        throw MediaError(
            .unsupported,
            "pictures of this format cannot be compared",
            given: picture.format.rawValue,
            allowed: PixelFormat.allCases.filter { SampleLayout($0) != nil }.map(\.rawValue).joined(separator: ", ")
        )
    }

    /// Returns the picture with separate chroma planes and, with 10 bits, codes in the lower bits of words.
    private static func planar(
        _ picture: PlanarPicture,
        _ scratch: ScratchPicture
    ) throws(MediaError) -> PlanarPicture {
        let layout = picture.layout.scalable
        if picture.layout == layout { return picture }
        let luma = picture.layout.sharesLuma(with: layout) ? picture.luma : nil
        let planar = try scratch.picture(layout, width: picture.width, height: picture.height, luma: luma)
        picture.write(to: planar, transform: nil)
        return planar
    }
}

extension PlanarPicture {
    /// Returns the difference of two planes with this picture's layout.
    fileprivate func difference(
        _ plane: PixelPlane,
        _ reference: PixelPlane,
        _ width: Int,
        _ height: Int
    ) throws(MediaError) -> PictureDifference.Plane {
        let isWide = layout.bytesPerSample == 2
        var pair = pixel_kernel_plane_pair(
            first: plane.baseAddress,
            second: reference.baseAddress,
            first_stride: plane.bytesPerRow,
            second_stride: reference.bytesPerRow,
            width: width,
            height: height,
            peak: isWide ? 1023 : 255
        )
        let error =
            isWide
            ? pixel_kernel_squared_error_16(&pair)
            : ComputeSumSquareErrorPlane(
                plane.baseAddress.assumingMemoryBound(to: UInt8.self),
                Int32(truncatingIfNeeded: plane.bytesPerRow),
                reference.baseAddress.assumingMemoryBound(to: UInt8.self),
                Int32(truncatingIfNeeded: reference.bytesPerRow),
                Int32(truncatingIfNeeded: width),
                Int32(truncatingIfNeeded: height)
            )
        let similarity = pixel_kernel_similarity(&pair)
        if similarity == PIXEL_KERNEL_NO_MEMORY {
            throw MediaError(.outOfMemory, "no memory to compare pictures", given: "\(width)x\(height)", call: "malloc")
        }
        return PictureDifference.Plane(
            squaredError: error,
            sampleCount: width * height,
            similarity: similarity == PIXEL_KERNEL_NO_WINDOW ? nil : similarity
        )
    }
}

extension PixelBuffer {
    /// A description of size and bit depth.
    fileprivate var shape: String { "\(width)x\(height) with \(format.bitDepth) bits" }
}

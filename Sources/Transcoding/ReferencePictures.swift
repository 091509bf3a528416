// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Glibc
import MediaTypes
import PixelConversion

/// The luma of a picture.
struct LumaPicture: Sendable {
    let width: Int
    let height: Int
    let bitDepth: Int
    /// The samples, row by row.
    private let samples: [UInt16]

    /// Copies the luma of a picture.
    ///
    /// - Throws: `unsupported` if the CPU cannot access the samples; an error of reading them.
    /// - Returns: `nil` for red, green and blue.
    init?(_ picture: PixelBuffer) throws(MediaError) {
        guard picture.format.isYCbCr else { return nil }
        (width, height) = (picture.width, picture.height)
        let arrangement = picture.format.arrangement
        bitDepth = arrangement.bitDepth
        var samples = [UInt16](repeating: 0, count: width * height)
        try picture.withPlanes { planes throws(MediaError) in
            let source = PictureComponents(
                arrangement,
                width: picture.width,
                height: picture.height,
                planes: planes
            )
            samples.withUnsafeMutableBytes { memory in
                guard let base = memory.baseAddress else { return }
                let target = ComponentPlane(
                    base: base,
                    bytesPerRow: 2 * picture.width,
                    step: 2,
                    wordSize: 2,
                    width: picture.width,
                    height: picture.height
                )
                source.planes[0].write(to: target, bitDepth: arrangement.bitDepth)
            }
        }
        self.samples = samples
    }

    /// The memory of the samples of such a picture, in bytes.
    static func byteCount(width: Int, height: Int) -> Int { 2 * width * height }

    /// Returns the peak signal-to-noise ratio in dB, at most ``OutputVerification/PSNR/highest``, which is that of equal
    /// pictures; `nil` if the other picture has another size.
    ///
    /// Samples of different bit depths are compared at the higher one.
    func psnr(with other: LumaPicture) -> Double? {
        guard (width, height) == (other.width, other.height), !samples.isEmpty else { return nil }
        let depth = max(bitDepth, other.bitDepth)
        let (ownShift, otherShift) = (depth - bitDepth, depth - other.bitDepth)
        let sum = samples.withUnsafeBufferPointer { own in
            other.samples.withUnsafeBufferPointer { others in
                guard let own = own.baseAddress, let others = others.baseAddress else { return 0 }
                var sum = 0
                for index in 0..<samples.count {
                    let difference = Int(own[index]) << ownShift - Int(others[index]) << otherShift
                    sum += difference * difference
                }
                return sum
            }
        }
        guard sum > 0 else { return OutputVerification.PSNR.highest }
        let peak = Double(1 << depth - 1)
        let ratio = 10 * log10(peak * peak * Double(samples.count) / Double(sum))
        return min(ratio, OutputVerification.PSNR.highest)
    }
}

/// Pictures of the input, evenly spread over it, as an encoder gets them: in the size and the bit depth of the output.
struct ReferencePictures {
    /// The pictures, by presentation time.
    private(set) var pictures: [MediaTime: LumaPicture] = [:]
    /// The times of the pictures, in their order.
    private var times: [MediaTime] = []
    /// The distance of the pictures, and the number of pictures up to now.
    private var (stride, count) = (1, 0)
    private let capacity: Int
    private let output: PixelBuffer.Description
    private let scaling: ScalingMode
    private var converter: PixelConverter?

    /// The largest number of pictures.
    static let mostPictures = 32
    /// The memory that they may take, in bytes; four pictures are kept in any case.
    private static let mostBytes = 64 << 20

    /// Makes an empty collection.
    ///
    /// - Parameter configuration: That of the encoder.
    init(_ configuration: EncoderConfiguration) {
        let format: PixelFormat =
            switch configuration.bitDepth {
            case ...8: .i420
            case ...10: .p010
            default: .i012
            }
        output = PixelBuffer.Description(
            format: format,
            width: configuration.width,
            height: configuration.height,
            color: configuration.color ?? .unspecified,
            pixelAspectRatio: configuration.pixelAspectRatio ?? .one
        )
        scaling = configuration.scaling
        let size = LumaPicture.byteCount(width: output.width, height: output.height)
        capacity = min(max(Self.mostBytes / max(size, 1), 4), Self.mostPictures)
    }

    /// Adds the next picture, if it is one of those that are kept.
    ///
    /// - Throws: The errors of ``PixelConverter/convert(_:)``.
    mutating func add(_ picture: PixelBuffer, at time: MediaTime) throws(MediaError) {
        defer { count += 1 }
        guard count % stride == 0 else { return }
        if times.count == capacity {
            // Every other one stays, so that they are evenly spread whatever the number of pictures will be.
            for index in times.indices where index % 2 == 1 { pictures[times[index]] = nil }
            times = times.indices.filter { $0 % 2 == 0 }.map { times[$0] }
            stride *= 2
            guard count % stride == 0 else { return }
        }
        guard let luma = try LumaPicture(try converted(picture)) else { return }
        pictures[time] = luma
        times.append(time)
    }

    private mutating func converted(_ picture: PixelBuffer) throws(MediaError) -> PixelBuffer {
        // Sizes that the converter does not make are those of pictures that need no conversion.
        guard try PixelConverter.conversion(of: picture.pictureDescription, to: output, scaling: scaling) != nil else {
            return picture
        }
        if let converter { return try converter.convert(picture) }
        let made = try PixelConverter(output: output, scaling: scaling)
        converter = made
        return try made.convert(picture)
    }
}

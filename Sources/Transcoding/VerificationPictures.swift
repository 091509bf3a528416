// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion

/// Pictures of the input with which the output is compared: evenly spread over it, and converted as for the encoder, to the
/// size and the colour of the output.
struct VerificationPictures {
    /// The pictures, by presentation time, in ``comparableFormat(bitDepth:)``.
    private(set) var pictures: [MediaTime: PixelBuffer] = [:]
    /// The times of the pictures, in their order.
    private var times: [MediaTime] = []
    /// The distance between two pictures, in pictures.
    private var stride = 1
    /// The number of pictures of the input until now.
    private var count = 0
    private let capacity: Int
    private let configuration: EncoderConfiguration
    private var converter: PixelConverter?

    /// The largest number of pictures.
    static let mostPictures = 32
    /// The memory that they may take, in bytes; four pictures are kept in any case.
    private static let mostBytes = 64 << 20

    /// Makes an empty collection.
    ///
    /// - Parameter configuration: That of the encoder.
    init(_ configuration: EncoderConfiguration) {
        self.configuration = configuration
        let format = Self.comparableFormat(bitDepth: configuration.bitDepth)
        let size = configuration.width * configuration.height * 3 / 2 * format.bytesPerSample
        capacity = min(max(Self.mostBytes / max(size, 1), 4), Self.mostPictures)
    }

    /// Returns a converter of the input's pictures to the size and the colour of an output.
    ///
    /// - Throws: The errors of ``PixelConverter``.
    static func converter(_ configuration: EncoderConfiguration) throws(MediaError) -> PixelConverter {
        try PixelConverter(
            output: PixelBuffer.Description(
                format: comparableFormat(bitDepth: configuration.bitDepth),
                // Encoders make odd sizes even.
                width: configuration.width & ~1,
                height: configuration.height & ~1,
                color: configuration.color ?? .unspecified,
                pixelAspectRatio: configuration.pixelAspectRatio ?? .one
            ),
            scaling: configuration.scaling
        )
    }

    /// Returns the format in which ``PictureComparator`` compares pictures of a bit depth: with 8 or 10 bits.
    static func comparableFormat(bitDepth: Int) -> PixelFormat { bitDepth > 8 ? .p010 : .i420 }

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
        pictures[time] = try converted(picture)
        times.append(time)
    }

    private mutating func converted(_ picture: PixelBuffer) throws(MediaError) -> PixelBuffer {
        if let converter { return try converter.convert(picture) }
        let made = try Self.converter(configuration)
        converter = made
        return try made.convert(picture)
    }
}

/// Compares decoded pictures with those that are kept of the input.
final class LumaMeter {
    private let references: [MediaTime: PixelBuffer]
    private let comparator = PictureComparator()
    private var converter: PixelConverter?
    /// The ratios in dB, in the order of the pictures.
    private(set) var ratios: [Double] = []
    /// The differences of all pictures together.
    private(set) var totals = PlaneTotals()

    /// - Parameter references: Those of ``VerificationPictures``.
    init(_ references: [MediaTime: PixelBuffer]) { self.references = references }

    /// Returns the ratio of luma in dB, at most ``OutputVerification/PSNR/highest``; `nil` if no picture of this time and size
    /// was kept.
    ///
    /// - Throws: The errors of ``PixelConverter`` and ``PictureComparator``.
    func measure(_ decoded: PixelBuffer, at time: MediaTime) throws(MediaError) -> Double? {
        guard let reference = references[time], (decoded.width, decoded.height) == (reference.width, reference.height)
        else { return nil }
        let converter = try converter(to: reference.format, like: decoded)
        let luma = try comparator.difference(of: try converter.convert(decoded), from: reference).luma
        totals.add(luma)
        let ratio = min(luma.psnr(bitDepth: reference.format.bitDepth), OutputVerification.PSNR.highest)
        ratios.append(ratio)
        return ratio
    }

    /// Returns the score of all pictures; `nil` if there is none.
    func score(_ metric: QualityMetric) -> OutputVerification.Score? {
        guard let bitDepth = converter?.output.format.bitDepth else { return nil }
        return totals.score(metric, bitDepth: bitDepth).map {
            .init(metric: metric, value: $0, pictureCount: totals.pictureCount)
        }
    }

    /// Returns a converter that changes neither size nor colour.
    private func converter(to format: PixelFormat, like picture: PixelBuffer) throws(MediaError) -> PixelConverter {
        if let converter { return converter }
        let made = try PixelConverter(
            output: PixelBuffer.Description(format: format, width: picture.width, height: picture.height),
            scaling: .stretch
        )
        converter = made
        return made
    }
}

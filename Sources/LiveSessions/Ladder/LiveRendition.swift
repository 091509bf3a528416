// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
public import VAToolbox

/// One of several encodes of the same pictures, which differ in size and bitrate.
public struct LiveRendition: Sendable, Hashable {
    /// The name, different from that of every other one: letters, digits, hyphens and underscores.
    public var name: String
    /// The height of the encoded pictures in luma samples: even. The width keeps the shape.
    public var height: Int
    /// The average bitrate of the video in bit/s.
    public var bitRate: Int

    /// The allowed heights, which are even.
    public static let allowedHeights = 16...16384
    /// The largest number of renditions of a stream.
    public static let largestCount = 12

    /// Describes a rendition.
    public init(name: String, height: Int, bitRate: Int) {
        (self.name, self.height, self.bitRate) = (name, height, bitRate)
    }

    /// Checks the renditions of a stream.
    ///
    /// - Throws: `invalidArgument`.
    static func validate(_ all: [LiveRendition]) throws(MediaError) {
        guard all.count <= largestCount else {
            throw refusal("a stream has too many renditions", "\(all.count)", "up to \(largestCount)")
        }
        for (index, one) in all.enumerated() {
            let isPlain = one.name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2D || byte == 0x5F
            }
            guard isPlain, (1...64).contains(one.name.utf8.count) else {
                let allowed = "up to 64 letters, digits, hyphens and underscores"
                throw refusal("the name of a rendition is not valid", one.name, allowed)
            }
            guard !all[..<index].contains(where: { $0.name == one.name }) else {
                throw refusal("two renditions have the same name", one.name, "different names")
            }
            guard allowedHeights.contains(one.height), one.height % 2 == 0 else {
                let allowed = "even, \(allowedHeights.lowerBound) to \(allowedHeights.upperBound)"
                throw refusal("the height of a rendition is not valid", "\(one.height)", allowed)
            }
            guard RateControl.allowedBitRates.contains(one.bitRate) else {
                let rates = RateControl.allowedBitRates
                let allowed = "\(rates.lowerBound) to \(rates.upperBound) bit/s"
                throw refusal("the bitrate of a rendition is out of range", "\(one.bitRate) bit/s", allowed)
            }
        }
        guard zip(all, all.dropFirst()).allSatisfy({ $0.height >= $1.height }) else {
            let names = all.map(\.name).joined(separator: ", ")
            throw refusal("renditions are out of order", names, "the highest one first")
        }
    }

    private static func refusal(_ message: String, _ given: String, _ allowed: String) -> MediaError {
        MediaError(.invalidArgument, message, given: given, allowed: allowed)
    }
}

extension LiveStatus {
    /// The state of one of several renditions.
    public struct Rendition: Sendable {
        /// Its settings.
        public var settings: LiveRendition
        /// The width of its pictures; `nil` before the first one.
        public var width: Int?
        /// Its encoder; `nil` before the first picture.
        public var encoder: EncoderDescription?
        /// The number of pictures that were accepted by its encoder.
        public var encodedPictures = 0
        /// The number of pictures that its encoder was too slow for.
        public var lostByEncoder = 0
        /// The bitrate that is asked of its encoder, in bit/s; `nil` before the first picture.
        public var bitRate: Int?
        /// The largest bitrate that is allowed, in bit/s; `nil` before the first picture.
        public var ceiling: Int?

        /// Makes the status of a rendition that has not begun.
        public init(_ settings: LiveRendition) { self.settings = settings }
    }
}

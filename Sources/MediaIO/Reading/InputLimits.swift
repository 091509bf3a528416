// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import Glibc
internal import MediaTypes

/// What an input may have at most, for programs that read files of strangers. A small file can declare a picture that takes
/// gigabytes of memory.
public struct InputLimits: Sendable, Hashable {
    /// The largest number of pixels of a picture, 1 to 2³¹ − 1; `nil` for libavcodec's limit.
    public var pixels: Int?
    /// The largest number of tracks, 1 to 1000; `nil` for libavformat's limit, which is 1000.
    public var tracks: Int?
    /// The longest duration that the headers state, in seconds, above zero; `nil` for no limit.
    public var duration: Int?

    /// Makes limits.
    public init(pixels: Int? = nil, tracks: Int? = nil, duration: Int? = nil) {
        self.pixels = pixels
        self.tracks = tracks
        self.duration = duration
    }

    /// Whether there are none.
    public var isEmpty: Bool { self == InputLimits() }

    /// The ranges of the limits, in the order of their names.
    package static let ranges: [Range] = [
        Range(name: "pixels", path: \.pixels, range: 1...Int(Int32.max)),
        Range(name: "tracks", path: \.tracks, range: 1...1000),
        Range(name: "duration", path: \.duration, range: 1...Int(Int32.max)),
    ]

    /// The range of a limit.
    package struct Range: Sendable {
        /// The name of the limit.
        package let name: String
        /// Where it is.
        package let path: any WritableKeyPath<InputLimits, Int?> & Sendable
        /// Its values.
        package let range: ClosedRange<Int>
    }

    /// - Throws: `invalidArgument` if a limit is out of range.
    func validate() throws(MediaError) {
        for limit in Self.ranges {
            guard let value = self[keyPath: limit.path] else { continue }
            try MediaError.check(value, in: limit.range, "the limit of \(limit.name) of an input")
        }
    }

    /// Checks what the headers of an input state. Pictures of other sizes that follow are the decoder's to refuse.
    ///
    /// - Throws: `unsupported` if the input exceeds a limit.
    func check(_ demuxer: Demuxer) throws(MediaError) {
        let streams = demuxer.streams
        if let tracks, streams.count > tracks { throw Self.excess("tracks", "\(streams.count)", "\(tracks)") }
        if let pixels {
            for parameters in streams.compactMap(\.pointee.codecpar?.pointee)
            where parameters.codec_type == AVMEDIA_TYPE_VIDEO {
                let (width, height) = (Int(parameters.width), Int(parameters.height))
                if width * height > pixels { throw Self.excess("pixels", "\(width)x\(height)", "\(pixels) pixels") }
            }
        }
        if let duration, let stated = demuxer.duration, stated > MediaTime(value: Int64(duration), timescale: 1) {
            throw Self.excess("seconds", "\(stated.seconds) seconds", "\(duration) seconds")
        }
    }

    private static func excess(_ what: String, _ given: String, _ most: String) -> MediaError {
        MediaError(
            .unsupported,
            "the input has more \(what) than are accepted here",
            given: given,
            allowed: "at most \(most)"
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaIO
public import MediaTypes

/// The input and the output of a ``Remuxer``.
public struct RemuxRequest: Sendable {
    /// The input: a path, `-` for standard input, or a URL.
    public var input: String
    /// FFmpeg's name of the input format; `nil` to detect it.
    public var inputFormat: String?
    /// The frame rate of a raw H.264 or HEVC stream in frames per second; `nil` for the one that its SPS states.
    public var inputFrameRate: Rational?
    /// The indices of the input's tracks to copy, in the order of the output; `nil` for all.
    public var tracks: [Int]?
    /// Where to begin, from the start of the input; zero or positive.
    ///
    /// MP4 and QuickTime begin exactly there: their edit lists hide the pictures since the key frame before. Every other
    /// output begins at that key frame, which ``RemuxReport/start`` states.
    public var start: MediaTime?
    /// How much to copy; must be positive. Only MP4 and QuickTime without fragments end exactly there.
    public var duration: MediaTime?
    /// The output: a path, `-` for standard output, or `null`.
    public var output: String
    /// The options for writing the output. ``MediaIO/MediaSink/Options/frameRate`` and what concerns encoders has no effect.
    public var sink: MediaSink.Options
    /// Receives FFmpeg's messages; `nil` leaves them to `MediaLog.logger`.
    public var logger: Logger?

    /// Makes a request that copies everything.
    public init(input: String, output: String, sink: MediaSink.Options = .init()) {
        (self.input, self.output, self.sink) = (input, output, sink)
    }

    /// Checks everything that needs no input, without creating a file.
    ///
    /// - Throws: `invalidArgument` for options that are out of range; the errors of
    ///   ``MediaIO/MediaSink/validate(path:options:)``.
    public func validate() throws(MediaError) {
        if let inputFrameRate, !inputFrameRate.isPositive {
            throw MediaError(
                .invalidArgument,
                "the frame rate of the input is out of range",
                given: inputFrameRate.description,
                allowed: "above 0"
            )
        }
        if let tracks, tracks.isEmpty || Set(tracks).count != tracks.count {
            throw MediaError(
                .invalidArgument,
                "the tracks to copy are not valid",
                given: tracks.isEmpty ? "none" : tracks.map(String.init).joined(separator: ", "),
                allowed: "at least one, and each once"
            )
        }
        try MediaSource.Options(start: start, duration: duration).validate()
        try MediaSink.validate(path: output, options: sinkOptions)
    }

    var sinkOptions: MediaSink.Options {
        var options = sink
        options.hasVideo = false
        options.copiesVideo = true
        if options.inputPaths.isEmpty { options.inputPaths = [input == "-" ? "/dev/stdin" : input] }
        return options
    }

    func sourceOptions(_ format: ContainerFormat) -> PacketSource.Options {
        var options = PacketSource.Options()
        options.format = inputFormat
        options.frameRate = inputFrameRate
        options.start = start
        options.duration = duration
        options.streams = tracks
        options.output = format
        return options
    }
}

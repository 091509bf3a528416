// SPDX-License-Identifier: GPL-2.0-or-later

internal import Logging
internal import MediaIO
internal import MediaTimeline
internal import MediaTypes

/// Where a writer writes.
enum AssetDestination: Sendable {
    /// One file, or several.
    case files(FileNames, MediaSink.Options)
    /// Segments, which a closure receives.
    case segments(SegmentSink.Options, @Sendable (MediaSegment) throws(MediaError) -> Void)

    /// A sink that a closure makes, which takes what the container carries.
    case sink(ContainerFormat, @Sendable () throws(MediaError) -> any OutputSink)

    /// An open output, and its container.
    typealias Opened = (sink: any OutputSink, format: ContainerFormat)

    /// Opens the output with a number, from 1.
    func open(_ number: Int, logger: Logger?, abandonment: Cancellation) throws(MediaError) -> Opened {
        switch self {
        case .files(let names, let options):
            let sink = try MediaSink(
                path: names.name(number),
                options: options,
                logger: logger,
                cancellation: abandonment,
                abandonment: abandonment
            )
            return (sink, sink.format)
        case .segments(let options, let receive):
            return (try SegmentSink(options: options, logger: logger, receive: receive), options.format.container)
        case .sink(let format, let make): return (try make(), format)
        }
    }

    /// The path of the file with a number; empty if there is no file.
    func path(_ number: Int) -> String {
        if case .files(let names, _) = self { names.name(number) } else { "" }
    }

    /// The rule by which a recording continues in another file; `nil` if there is one output.
    var splitting: AssetWriter.Splitting? {
        if case .files(let names, _) = self { names.splitting } else { nil }
    }

    /// The key frames with which segments begin; `nil` for files.
    var keyFrames: SegmentKeyFrames? {
        guard case .segments(let options, _) = self else { return nil }
        return SegmentKeyFrames(duration: options.duration, frameRate: options.frameRate)
    }
}

/// Requests the key frames with which segments begin.
struct SegmentKeyFrames: Sendable {
    private var grid: SegmentGrid
    /// The grid before the latest request.
    private var previous: SegmentGrid

    init(duration: MediaTime, frameRate: Rational?) {
        grid = SegmentGrid(duration: duration, frameRate: frameRate)
        previous = grid
    }

    /// Returns whether a picture should become a key frame.
    mutating func requestsKeyFrame(at time: MediaTime) -> Bool {
        let before = grid
        guard grid.place(time) == .segment else { return false }
        previous = before
        return true
    }

    /// Registers that the requested key frame was dropped.
    mutating func requestAgain() { grid = previous }
}

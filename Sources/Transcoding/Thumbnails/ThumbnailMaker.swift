// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
public import MediaTypes
import StreamingPlaylists
import Synchronization

/// Makes thumbnails of the main video of a file: pictures that are shown at given times, upright, in a small size. Each
/// instance can run once.
public final class ThumbnailMaker: Sendable {
    private let request: ThumbnailRequest
    private let cancellation = Cancellation()
    private let abandonment = Cancellation()
    private let state = Mutex(State())

    private struct State {
        var hasStarted = false
        var progress = ThumbnailProgress()
    }

    /// Makes a maker of thumbnails.
    public init(_ request: ThumbnailRequest) { self.request = request }

    /// The present progress. Safe on any thread.
    public var progress: ThumbnailProgress { state.withLock { $0.progress } }

    /// Ends the reading as if the input ended here; the output is complete. Safe on any thread, at any time.
    public func stop() { cancellation.cancel() }

    /// Makes the thumbnails. If the calling task is cancelled, it ends with `cancelled` and leaves no output.
    ///
    /// - Throws: The first error of the input or the output; then no file of the output is left. In particular
    ///   `invalidArgument` if a value is out of range, the start is behind the end, or a file exists that may not be
    ///   replaced; `malformedData` if the input is no video; `invalidState` for a second run.
    public func run() async throws(MediaError) -> ThumbnailReport {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted
        }
        guard isFirst else { throw MediaError(.invalidState, "a maker of thumbnails can run only once") }
        try request.validate()
        let outcome = await withTaskCancellationHandler {
            do throws(MediaError) {
                let report = try await PlainThread.result(name: "vt-thumbnails") { () throws(MediaError) in
                    try self.work()
                }
                return Result<ThumbnailReport, MediaError>.success(report)
            } catch {
                return .failure(error)
            }
        } onCancel: {
            abandonment.cancel()
            cancellation.cancel()
        }
        return try outcome.get()
    }

    private func work() throws(MediaError) -> ThumbnailReport {
        let finder = try PictureFinder(
            path: request.input,
            format: request.inputFormat,
            limits: request.inputLimits,
            logger: request.logger,
            cancellation: cancellation
        )
        let end = try request.end(of: finder.duration, input: request.input)
        let writer = try makeWriter()
        let expected = request.schedule.count(in: end.map { $0 - request.start })
        if let expected, expected > ThumbnailRequest.mostThumbnails {
            throw MediaError(
                .invalidArgument,
                "there would be too many thumbnails",
                given: "\(expected)",
                allowed: "up to \(ThumbnailRequest.mostThumbnails)",
                remedies: ["ask for fewer: a longer --every, or --count"]
            )
        }
        state.withLock { $0.progress.expectedThumbnails = expected }
        var thumbnails: [Thumbnail] = []
        var color: ColorDescription?
        var wasStopped = false
        do throws(MediaError) {
            while thumbnails.count < ThumbnailRequest.mostThumbnails,
                let interval = request.schedule.interval(thumbnails.count, from: request.start, to: end),
                let found = try finder.picture(at: interval.time)
            {
                color = color ?? found.buffer.color
                let place = try writer.write(found.buffer)
                thumbnails.append(Thumbnail(interval, found.time, place))
                note(thumbnails.count, interval.time)
            }
        } catch {
            guard error.code == .cancelled, !abandonment.isCancelled, !thumbnails.isEmpty else { throw error }
            wasStopped = true
        }
        close(&thumbnails, at: end, wasStopped ? nil : finder.duration)
        guard let size = writer.size, let color else { throw noPictureError(finder) }
        if abandonment.isCancelled { throw MediaError(.cancelled, "making thumbnails was cancelled") }
        let byteCount = try writer.finish(track(thumbnails, size))
        return ThumbnailReport(
            inputFormat: finder.formatName,
            codec: finder.codecName,
            inputDuration: finder.duration,
            thumbnails: thumbnails,
            width: size.width,
            height: size.height,
            paths: writer.paths,
            byteCount: byteCount,
            color: color,
            seeks: finder.seekCount,
            problems: finder.problems,
            wasStopped: wasStopped
        )
    }

    private func note(_ count: Int, _ time: MediaTime) {
        state.withLock { state in
            state.progress.thumbnails = count
            state.progress.time = time
        }
    }

    /// Ends the last interval where the input ends.
    private func close(_ thumbnails: inout [Thumbnail], at end: MediaTime?, _ duration: MediaTime?) {
        guard let last = thumbnails.indices.last else { return }
        let known = [end, duration].compactMap { $0 }.min()
        if let known, known > thumbnails[last].start { thumbnails[last].end = min(thumbnails[last].end, known) }
    }

    private func noPictureError(_ finder: PictureFinder) -> MediaError {
        MediaError(
            .malformedData,
            "there is no picture at the first time" + (finder.problems.descriptions.first.map { ": \($0)" } ?? ""),
            given: "\(request.start.seconds) s",
            allowed: finder.duration.map { "below \($0.seconds) s" }
        )
    }

    private func makeWriter() throws(MediaError) -> ThumbnailWriter {
        let grid: ThumbnailWriter.Grid?
        switch request.output {
        case .files: grid = nil
        case .sheets(_, let columns, let rows): grid = .init(columns: columns, rows: rows)
        }
        return try ThumbnailWriter(
            try request.pattern(),
            grid,
            request.format.still,
            width: request.width,
            track: request.trackPath,
            overwrite: request.overwrite,
            inputPath: request.input,
            cancellation: cancellation,
            abandonment: abandonment,
            logger: request.logger
        )
    }

    private func track(
        _ thumbnails: [Thumbnail],
        _ size: (width: Int, height: Int)
    ) -> (path: String, text: String)? {
        guard let path = request.trackPath else { return nil }
        let cues = thumbnails.map { thumbnail in
            ThumbnailTrack.Cue(
                start: thumbnail.start,
                end: thumbnail.end,
                path: String(thumbnail.path.split(separator: "/").last ?? ""),
                x: thumbnail.x,
                y: thumbnail.y,
                width: size.width,
                height: size.height
            )
        }
        return (path, ThumbnailTrack(cues: cues).text)
    }
}

extension Thumbnail {
    fileprivate init(
        _ interval: ThumbnailSchedule.Interval,
        _ pictureTime: MediaTime,
        _ place: ThumbnailWriter.Place
    ) {
        (start, end, time) = (interval.start, interval.end ?? interval.start, interval.time)
        (self.pictureTime, path, x, y) = (pictureTime, place.path, place.x, place.y)
    }
}

extension ThumbnailRequest.Format {
    /// The format for the writer.
    fileprivate var still: StillFormat {
        switch self {
        case .png: .png
        case .jpeg(let quality): .jpeg(quality: quality)
        }
    }

    /// The extension of the sheets.
    fileprivate var fileExtension: String { self == .png ? "png" : "jpg" }
}

extension ThumbnailRequest {
    /// The WebVTT file; `nil` for files of their own.
    fileprivate var trackPath: String? {
        if case .sheets(let path, _, _) = output { path } else { nil }
    }

    /// The paths of the pictures.
    fileprivate func pattern() throws(MediaError) -> FileNamePattern {
        switch output {
        case .files(let path): return try FileNamePattern(path)
        case .sheets(let path, _, _):
            let base = path.replacing("%", with: "%%")
            let stem = base.lowercased().hasSuffix(".vtt") ? String(base.dropLast(4)) : base
            return try FileNamePattern("\(stem)-%d.\(format.fileExtension)")
        }
    }

    /// The end of the part that is shown, from the start of the input; `nil` if not known.
    ///
    /// - Throws: `invalidArgument` if the start is behind it, or equal parts need it.
    fileprivate func end(of whole: MediaTime?, input: String) throws(MediaError) -> MediaTime? {
        let wanted = duration.map { start + $0 }
        let end = [wanted, whole].compactMap { $0 }.min()
        if let whole, start >= whole {
            throw MediaError(
                .invalidArgument,
                "there is no picture at or after the start time",
                given: "\(start.seconds) s",
                allowed: "below \(whole.seconds) s"
            )
        }
        if case .count = schedule, end == nil {
            throw MediaError(
                .invalidArgument,
                "a number of thumbnails needs the duration, which the input does not state",
                given: input,
                allowed: "an input that states its duration, or --duration",
                remedies: ["ask for a thumbnail every few seconds: --every 10"]
            )
        }
        return end
    }

    /// - Throws: `invalidArgument` if a value is out of range.
    fileprivate func validate() throws(MediaError) {
        func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(MediaError) {
            try MediaError.check(value, in: range, name)
        }
        switch schedule {
        case .first: break
        case .count(let count): try check("number of thumbnails", count, 1...Self.mostThumbnails)
        case .every(let distance):
            guard distance.isValid, distance >= MediaTime(value: 1, timescale: 1000) else {
                throw MediaError(
                    .invalidArgument,
                    "the time between thumbnails is out of range",
                    given: "\(distance.seconds) s",
                    allowed: "from 0.001 s"
                )
            }
        }
        if let width {
            try check("width of thumbnails", width, 2...ThumbnailWriter.longestSide)
            guard width % 2 == 0 else {
                throw MediaError(
                    .invalidArgument,
                    "the width of thumbnails is odd",
                    given: "\(width)",
                    allowed: "\(width - 1) or \(width + 1)"
                )
            }
        }
        if case .sheets(_, let columns, let rows) = output {
            try check("number of columns", columns, 1...100)
            try check("number of rows", rows, 1...100)
        }
        if case .jpeg(let quality) = format { try check("quality of JPEG", quality, StillFormat.qualities) }
        var options = MediaSource.Options(start: start, duration: duration)
        options.limits = inputLimits
        try options.validate()
    }
}

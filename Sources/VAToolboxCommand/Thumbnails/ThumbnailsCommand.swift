// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import MediaIO
import MediaTypes
import Transcoding

/// `vatoolbox thumbnails`.
struct ThumbnailsCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "thumbnails",
        abstract:
            "Write small pictures of a video: one every few seconds, or sheets of them for the time line of a player.",
        usage: "vatoolbox thumbnails <input> -o <output> [options]",
        discussion: """
            The pictures are those that are shown at exact times, upright and in the shape in which they are displayed. All files \
            get their names at the end. Exit status: 0 success; 1 failure; 2 invalid command line; 3 success, but part of the \
            input is damaged or missing; 130 interrupted, the output contains what was made until then.
            """
    )

    @Argument(
        help: "A file or URL that FFmpeg can read, or - for standard input.",
        completion: .file()
    )
    var input: String

    @OptionGroup(title: "Output options") var output: ThumbnailOutputArguments
    @OptionGroup(title: "Input options") var source: ThumbnailInputArguments
    @OptionGroup(title: "Report options") var report: ReportArguments
}

/// The pictures.
struct ThumbnailOutputArguments: ParsableArguments, Sendable {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "PNG or JPEG files such as thumb-%04d.jpg, numbered from 1 on, or one file; or a WebVTT file (.vtt), with sheets of "
                + "thumbnails beside it.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time between thumbnails: seconds or [HH:]MM:SS[.fff] (default: 10 seconds).",
            valueName: "time"
        )
    )
    var every: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "This many thumbnails, from the middles of as many equal parts: 1 to 10000.",
            valueName: "count"
        )
    )
    var count: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Width of a thumbnail in pixels, even; the height follows (default: 320, on sheets 160, or that of a smaller input).",
            valueName: "pixels"
        )
    )
    var width: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Columns of a sheet, 1 to 100 (default: 10).", valueName: "count")
    )
    var columns: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Rows of a sheet, 1 to 100 (default: 10).", valueName: "count")
    )
    var rows: ArgumentText<WholeNumber>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The format of the pictures: jpg or png (default: from the extension; jpg for sheets).",
            valueName: "name"
        )
    )
    var format: ArgumentText<PictureFileFormat>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Quality of JPEG, 1 to 100 (default: 85).", valueName: "number")
    )
    var quality: ArgumentText<WholeNumber>?

    @Flag(help: "Overwrite existing output files.")
    var overwrite = false
}

/// The input and the part of it that is shown.
struct ThumbnailInputArguments: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The first time: seconds or [HH:]MM:SS[.fff] (default: 0).", valueName: "time")
    )
    var start: ArgumentText<ClockTime>?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How much to show from --start on: seconds or [HH:]MM:SS[.fff].", valueName: "time")
    )
    var duration: ArgumentText<ClockTime>?

    @Option(help: ArgumentHelp("FFmpeg's name of the input format (default: detected).", valueName: "name"))
    var inputFormat: String?

    @OptionGroup var limits: InputLimitArguments
}

/// The format of a file with one picture, by its usual extension.
enum PictureFileFormat: String, ArgumentValue, CaseIterable {
    case jpg
    case png

    /// The format of a path; `nil` if its extension is none of these.
    init?(path: String) {
        let name = path.lowercased()
        if name.hasSuffix(".png") {
            self = .png
        } else if name.hasSuffix(".jpg") || name.hasSuffix(".jpeg") {
            self = .jpg
        } else {
            return nil
        }
    }
}

extension ThumbnailsCommand {
    private static let usualInterval = MediaTime(value: 10, timescale: 1)
    private static let usualQuality = 85
    private static let (usualColumns, usualRows) = (10, 10)

    /// Returns the request of the command line.
    ///
    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func request() throws(MediaError) -> ThumbnailRequest {
        try report.validateFlags()
        let (place, format) = try requestedOutput()
        var request = ThumbnailRequest(
            input: input,
            output: place,
            format: try format.withQuality(output.quality, usual: Self.usualQuality),
            schedule: try schedule(place)
        )
        request.width = try output.width?.value(of: "--width").value
        request.start = try source.start?.value(of: "--start").time ?? .zero
        request.duration = try source.duration?.value(of: "--duration").time
        request.inputFormat = source.inputFormat
        request.inputLimits = try source.limits.limits()
        request.overwrite = output.overwrite
        return request
    }

    private func requestedOutput() throws(MediaError) -> (ThumbnailRequest.Output, PictureFileFormat) {
        let path = output.output
        let format = try output.format?.value(of: "--format")
        if path.lowercased().hasSuffix(".vtt") {
            let columns = try output.columns?.value(of: "--columns").value ?? Self.usualColumns
            let rows = try output.rows?.value(of: "--rows").value ?? Self.usualRows
            return (.sheets(path: path, columns: columns, rows: rows), format ?? .jpg)
        }
        let given = [("--columns", output.columns?.text), ("--rows", output.rows?.text)]
        if let (option, value) = given.first(where: { $0.1 != nil }) {
            throw MediaError(
                .invalidArgument,
                "\(option) is for sheets of thumbnails",
                given: "\(option) \(value ?? "")",
                allowed: "with an output that ends with .vtt"
            )
        }
        guard let found = PictureFileFormat(path: path) else {
            throw MediaError(
                .invalidArgument,
                "the format of the output is not known",
                given: path,
                allowed: "a name that ends with .jpg, .png or .vtt"
            )
        }
        if let format, format != found { throw contradiction("-o \(path)", "--format \(format.rawValue)") }
        return (.files(path: path), found)
    }

    private func schedule(_ place: ThumbnailRequest.Output) throws(MediaError) -> ThumbnailSchedule {
        if let every = output.every, let count = output.count {
            throw contradiction("--every \(every.text)", "--count \(count.text)")
        }
        let every = try output.every?.value(of: "--every").time
        let count = try output.count?.value(of: "--count").value
        if case .files(let path) = place, try !FileNamePattern(path).hasNumber {
            if every != nil || count.map({ $0 != 1 }) ?? false {
                throw MediaError(
                    .invalidArgument,
                    "a path without a number takes one thumbnail",
                    given: path,
                    allowed: "a path with %d, such as thumb-%04d.jpg; or one thumbnail, of --start or --count 1"
                )
            }
            return count == nil ? .first : .count(1)
        }
        return count.map { .count($0) } ?? .every(every ?? Self.usualInterval)
    }
}

extension PictureFileFormat {
    fileprivate func withQuality(
        _ quality: ArgumentText<WholeNumber>?,
        usual: Int
    ) throws(MediaError) -> ThumbnailRequest.Format {
        guard self == .png else { return .jpeg(quality: try quality?.value(of: "--quality").value ?? usual) }
        guard let quality else { return .png }
        throw MediaError(
            .invalidArgument,
            "PNG is without loss, and has no quality",
            given: "--quality \(quality.text)",
            allowed: "with JPEG"
        )
    }
}

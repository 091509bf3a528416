// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaIO
public import MediaTypes

/// What a ``ThumbnailMaker`` reads and writes.
public struct ThumbnailRequest: Sendable {
    /// Where thumbnails go.
    public enum Output: Sendable, Hashable {
        /// Each to a file. In the file name, `%d` or `%04d` stands for the number, from 1 on, and `%%` for a percent sign. A
        /// path without a number takes one thumbnail.
        case files(path: String)
        /// To sheets of `columns` times `rows` thumbnails, and a WebVTT file of this path that says where each is. The
        /// sheets have its name with a number: `film-1.jpg` for `film.vtt`.
        case sheets(path: String, columns: Int, rows: Int)
    }

    /// The format of the pictures.
    public enum Format: Sendable, Hashable {
        /// PNG, without loss.
        case png
        /// JPEG of a quality from 1 to 100.
        case jpeg(quality: Int)
    }

    /// The file or URL to read.
    public var input: String
    /// Where thumbnails go.
    public var output: Output
    /// The format of the pictures.
    public var format: Format
    /// When thumbnails are taken.
    public var schedule: ThumbnailSchedule
    /// The width of thumbnails in pixels, even; `nil` for 320, or 160 on sheets, but no more than that of the input. The
    /// height follows from the shape of the pictures.
    public var width: Int?
    /// The first time, from the start of the input; zero or positive.
    public var start = MediaTime.zero
    /// How much of the input is shown; `nil` for everything.
    public var duration: MediaTime?
    /// FFmpeg's name of the input's format; `nil` to detect it.
    public var inputFormat: String?
    /// What the input may have at most.
    public var inputLimits = InputLimits()
    /// Whether existing files may be replaced.
    public var overwrite = false
    /// Receives FFmpeg's messages; `nil` leaves them to `MediaLog.logger`.
    public var logger: Logger?

    /// Makes a request.
    public init(input: String, output: Output, format: Format, schedule: ThumbnailSchedule) {
        (self.input, self.output, self.format, self.schedule) = (input, output, format, schedule)
    }

    /// The most thumbnails of a run.
    public static let mostThumbnails = 10_000
}

/// The progress of a ``ThumbnailMaker``.
public struct ThumbnailProgress: Sendable, Hashable {
    /// The number of thumbnails that were made.
    public var thumbnails = 0
    /// How many there will be, as far as known.
    public var expectedThumbnails: Int?
    /// The time of the last one, from the start of the input.
    public var time = MediaTime.zero

    /// Makes the progress of a run that has not begun.
    public init() {}
}

/// A thumbnail that was made.
public struct Thumbnail: Sendable, Hashable {
    /// Where the part of the input begins that it stands for, from the start of the input.
    public var start: MediaTime
    /// Where this part ends.
    public var end: MediaTime
    /// The time at which it shows the input.
    public var time: MediaTime
    /// When the picture that is shown then begins.
    public var pictureTime: MediaTime
    /// The path of the file.
    public var path: String
    /// The column of its upper left corner in the file.
    public var x: Int
    /// The row of its upper left corner in the file.
    public var y: Int
}

/// The result of a ``ThumbnailMaker``.
public struct ThumbnailReport: Sendable {
    /// FFmpeg's name of the input's format.
    public var inputFormat: String
    /// FFmpeg's name of the video's codec.
    public var codec: String
    /// The duration of the input; `nil` if not known.
    public var inputDuration: MediaTime?
    /// The thumbnails, in order.
    public var thumbnails: [Thumbnail]
    /// The width of each in pixels.
    public var width: Int
    /// The height of each in pixels.
    public var height: Int
    /// The paths of the pictures.
    public var paths: [String]
    /// The size of all files in bytes.
    public var byteCount: Int64
    /// The colour description of the first picture; thumbnails keep its primaries and transfer characteristics.
    public var color: ColorDescription
    /// How many times decoding began at a key frame.
    public var seeks: Int
    /// The problems of the input.
    public var problems: SourceProblems
    /// Whether ``ThumbnailMaker/stop()`` ended it early.
    public var wasStopped: Bool
}

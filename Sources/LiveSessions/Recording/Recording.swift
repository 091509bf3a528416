// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes

/// A file into which a stream is written as well.
public struct Recording: Sendable {
    /// The path of the file.
    public var path: String
    /// The options of the file.
    public var options: MediaSink.Options

    /// Describes a file.
    ///
    /// - Parameters:
    ///   - path: The path, whose extension selects the container.
    ///   - overwrite: Whether an existing file may be replaced.
    ///   - inputPaths: Files that are read meanwhile, which are never replaced.
    /// - Throws: `invalidArgument` if such a file cannot be written, or exists. What is there and no regular file, such
    ///   as a FIFO, is refused: its reader could hold up the end of the stream.
    public init(path: String, overwrite: Bool = false, inputPaths: [String] = []) throws(MediaError) {
        self.path = path
        options = try .recording(path: path, overwrite: overwrite)
        options.inputPaths = inputPaths
        options.needsRegularFile = true
        try MediaSink.validate(path: path, options: options)
    }
}

extension MediaSink.Options {
    /// What a crash loses of a recording at most, unless it is stated: a second.
    public static let usualFragmentInterval = MediaTime(value: 1, timescale: 1)

    /// The options of a file that is recorded live: MP4 and QuickTime are synced fragment by fragment, and become one that
    /// every player can seek in at the end.
    ///
    /// - Parameters:
    ///   - path: The path of the file, whose extension selects the container.
    ///   - overwrite: Whether an existing file may be replaced.
    ///   - fragmentInterval: The duration of fragments.
    /// - Throws: `invalidArgument` if the container is not known.
    public static func recording(
        path: String,
        overwrite: Bool,
        fragmentInterval: MediaTime = usualFragmentInterval
    ) throws(MediaError) -> Self {
        var options = Self()
        options.overwrite = overwrite
        guard try ContainerFormat(name: nil, path: path).canBeFragmented else { return options }
        options.isFragmented = true
        options.fragmentInterval = fragmentInterval
        options.isDefragmented = true
        return options
    }
}

/// What is known about the recording of a stream at a moment.
public struct RecordingStatus: Sendable, Hashable {
    /// The state of a recording.
    public enum State: Sendable, Hashable {
        /// It waits for the first picture or sound.
        case waiting
        /// It is written.
        case recording
        /// It was ended by this error. The stream goes on.
        case failed(MediaError)
        /// The file is complete.
        case finished

        /// A word for people and for JSON.
        public var name: String {
            switch self {
            case .waiting: "waiting"
            case .recording: "recording"
            case .failed: "failed"
            case .finished: "finished"
            }
        }

        /// The error that has ended it.
        public var error: MediaError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    /// The path of the file.
    public var path: String
    /// The state.
    public var state = State.waiting
    /// The path at which the recording is until it is complete, and at which it stays if it cannot get its name; `nil`
    /// if there is none.
    public var temporaryPath: String?
    /// The number of pictures that were written.
    public var pictures = 0
    /// How much was written: the end of the last picture, or without video of the last sound.
    public var duration = MediaTime.zero
    /// The number of coded bytes that were written, without those of the container.
    public var codedBytes: Int64 = 0
    /// The number of coded bytes that wait for the disk.
    public var queuedBytes = 0
    /// The file, when it is complete; one that a slow disk has ended has what came until then.
    public var file: MediaSink.Summary?

    /// Makes the status of a recording that has not begun.
    public init(path: String) { self.path = path }
}

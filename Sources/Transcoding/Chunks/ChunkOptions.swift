// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
import VAToolbox

/// How an output is encoded in chunks that outlive the process.
public struct ChunkOptions: Sendable, Hashable {
    /// The folder of the finished chunks. It is created if its parent exists, is used by one encode at a time, and is
    /// deleted when the output is complete.
    public var folder: String
    /// Whether the folder is kept nevertheless, for a caller that may still fail to use the output.
    public var keepsChunks = false
    /// The target duration of a chunk in seconds, in ``allowedDurations``. Chunks begin at key frames of the input if
    /// possible, so the duration of each may differ by up to 50 %.
    public var duration = 30.0
    /// The number of chunks that are encoded at the same time, in ``allowedCounts``.
    public var parallel = 1

    /// The possible values of ``duration``.
    public static let allowedDurations = 1.0...3600.0
    /// The possible values of ``parallel``.
    public static let allowedCounts = 1...64

    /// Makes options with the default duration, for one chunk at a time.
    public init(folder: String) { self.folder = folder }

    /// Checks the ranges.
    ///
    /// - Throws: `invalidArgument` if a value is out of range.
    public func validate() throws(MediaError) {
        guard Self.allowedDurations.contains(duration) else {
            let allowed = Self.allowedDurations
            throw MediaError(
                .invalidArgument,
                "the duration of chunks is out of range",
                given: "\(duration) s",
                allowed: "\(Int(allowed.lowerBound)) to \(Int(allowed.upperBound)) s"
            )
        }
        guard Self.allowedCounts.contains(parallel) else {
            let allowed = Self.allowedCounts
            throw MediaError(
                .invalidArgument,
                "the number of chunks at the same time is out of range",
                given: "\(parallel)",
                allowed: "\(allowed.lowerBound) to \(allowed.upperBound)"
            )
        }
        guard !folder.isEmpty else {
            throw MediaError(.invalidArgument, "the folder of the chunks has no name", allowed: "the path of a folder")
        }
    }
}

/// Every ``count``-th chunk of an output, beginning with chunk ``number``: the share of one of several processes.
public struct ChunkPart: Sendable, Hashable, CustomStringConvertible {
    /// Which of them, from 1 on.
    public let number: Int
    /// The number of parts.
    public let count: Int

    /// The possible values of ``count``.
    public static let allowedCounts = 1...1000

    /// Makes a part; `nil` if a value is out of range.
    public init?(_ number: Int, of count: Int) {
        guard Self.allowedCounts.contains(count), (1...count).contains(number) else { return nil }
        (self.number, self.count) = (number, count)
    }

    /// Whether a chunk, counted from 0, is in it.
    func contains(_ chunk: Int) -> Bool { chunk % count == number - 1 }

    /// For example `2/8`.
    public var description: String { "\(number)/\(count)" }
}

/// How an output was made of chunks.
public struct ChunkSummary: Sendable, Hashable {
    /// The number of chunks.
    public var count: Int
    /// The number of chunks that earlier runs or other processes had finished.
    public var reused: Int
    /// The number of times that a finished chunk was encoded again, for a common encoder or for the VBV buffer.
    public var repeated: Int
}

extension TranscodeRequest {
    /// Checks as ``validate()``, and refuses what is no single encode of a file.
    func validateForChunks() throws(MediaError) {
        try validate()
        let refusals: [(isGiven: Bool, given: String, allowed: String)] = [
            (!others.isEmpty, "\(outputs.count) outputs", "one output"),
            (stream != nil, "a playlist", "an output file"),
            (isPaced || session.realTime != nil, "real time", "no real time"),
            (first.target != nil, "a quality target", "a quality or a bitrate"),
            (
                video.frameRate != nil, "\(video.frameRate ?? .one) frames per second",
                "the frame rate of the input"
            ),
            (!inputIsFile, input, "a regular file as input"),
        ]
        guard let refusal = refusals.first(where: \.isGiven) else { return }
        throw MediaError(
            .invalidArgument,
            "this cannot be encoded in chunks",
            given: refusal.given,
            allowed: refusal.allowed
        )
    }
}

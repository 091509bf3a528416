// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
internal import StreamingPlaylists

/// How a live stream is cut into segments and parts, and how much of it is listed.
public struct HLSOptions: Sendable, Hashable {
    /// The target duration of a segment in seconds, 1 to 30.
    public var segment = 4
    /// The wanted duration of a part, 0.2 s to 2 s; `nil` for none. Parts consist of whole pictures and packets, so
    /// that the playlists state a slightly longer target.
    public var part: MediaTime?
    /// How many of the newest seconds are listed; `nil` for all.
    public var window: MediaTime?
    /// The largest distance of key frames, if the encoder keeps one. Without it, segments end at the first key frame
    /// behind which another segment might become too long.
    public var keyFrameInterval: MediaTime?

    /// Makes the default options.
    public init() { window = MediaTime(value: 60, timescale: 1) }

    static let segments = 1...30
    static let parts = 0.2...2.0
    static let longestWindow = 86_400.0
    /// How much a server keeps in memory at most.
    static let longestWindowOfServer = 21_600.0

    init(_ parameters: HLSParameters, isServer: Bool) throws(MediaError) {
        self.init()
        if let text = parameters.values["segment"] {
            guard let seconds = Int(text), Self.segments.contains(seconds), !text.hasPrefix("+") else {
                throw MediaError(
                    .invalidArgument,
                    "the address has a wrong segment",
                    given: text,
                    allowed: "whole seconds, \(Self.segments.lowerBound) to \(Self.segments.upperBound)"
                )
            }
            segment = seconds
        }
        if isServer { part = MediaTime(value: 1, timescale: 1) }
        if parameters.values["part"] == "none" {
            part = nil
        } else if let seconds = try parameters.seconds("part", in: Self.parts) {
            part = seconds
        }
        let least = Double(segment * 6)
        let most = isServer ? Self.longestWindowOfServer : Self.longestWindow
        let listed = try parameters.seconds("window", in: least...most)
        window = listed ?? MediaTime(value: Int64(max(60, segment * 6)), timescale: 1)
        if parameters.values["dvr"] == "all" {
            guard !isServer else {
                throw MediaError(
                    .invalidArgument,
                    "a server does not keep everything, because it is in memory",
                    given: "dvr=all",
                    allowed: "dvr up to \(Int(most)) s, or a folder or another server"
                )
            }
            window = nil
        } else if let seconds = try parameters.seconds("dvr", in: least...most) {
            window = max(seconds, listed ?? .zero)
        }
    }

    /// Checks the ranges, also of options that no address has stated.
    ///
    /// - Throws: `invalidArgument` with the allowed values.
    public func validate() throws(MediaError) {
        guard Self.segments.contains(segment) else {
            throw MediaError(
                .invalidArgument,
                "the duration of a segment is out of range",
                given: "\(segment) s",
                allowed: "\(Self.segments.lowerBound) to \(Self.segments.upperBound) s"
            )
        }
        if let part, !part.isValid || !Self.parts.contains(part.seconds) || part > target {
            throw MediaError(
                .invalidArgument,
                "the duration of a part is out of range",
                given: "\(part.seconds) s",
                allowed: "\(Self.parts.lowerBound) to \(Self.parts.upperBound) s, at most the duration of a segment"
            )
        }
        if let interval = keyFrameInterval, !interval.isValid || interval > target || interval <= .zero {
            throw MediaError(
                .invalidArgument,
                "key frames are further apart than a segment may be long",
                given: "\(interval.seconds) s",
                allowed: "up to \(segment) s",
                remedies: ["make segments longer: segment=\(Int(min(interval.seconds, 30).rounded(.up)))"]
            )
        }
    }

    /// The target duration as a time.
    var target: MediaTime { MediaTime(value: Int64(segment), timescale: 1) }

    /// The options of the playlists.
    ///
    /// - Parameters:
    ///   - plan: The durations of parts.
    ///   - holdsRequests: Whether the server answers requests when the playlist has what they ask for.
    func playlist(_ plan: PartPlan, holdsRequests: Bool) -> LiveMediaPlaylist.Options {
        var options = LiveMediaPlaylist.Options(
            targetDuration: segment,
            partTarget: plan.announced,
            window: window.map { .duration(max($0, target * 6)) } ?? .event
        )
        options.offersBlockingReload = holdsRequests || plan.announced != nil
        options.offersDeltaUpdates = holdsRequests
        return options
    }
}

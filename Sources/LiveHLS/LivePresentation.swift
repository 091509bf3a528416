// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes
internal import Streaming
internal import StreamingPlaylists
internal import Synchronization

/// A presentation that outlives connections: each of them continues its playlists.
final class LivePresentation: Sendable {
    private let packager: Mutex<LivePackager>

    /// - Parameter renditions: The names of the renditions of the video; none if there is one.
    /// - Throws: `invalidArgument` for options out of range.
    init(_ options: HLSOptions, store: any LiveStore, renditions: [String] = []) throws(MediaError) {
        packager = Mutex(try LivePackager(options, store: store, token: Self.token, renditions: renditions))
    }

    /// Begins with the units of a connection; see ``LivePackager/begin(_:rendition:at:)``.
    func begin(_ tracks: LiveTracks, rendition: Int = 0) throws(MediaError) {
        try change { (packager) throws(MediaError) in
            try packager.begin(tracks, rendition: rendition, at: MonotonicClock.now)
        }
    }

    /// Adds a unit; see ``LivePackager/add(_:rendition:at:date:)``.
    func add(_ unit: LiveUnit, rendition: Int = 0) throws(MediaError) {
        guard let date = WallClockTime(milliseconds: Self.milliseconds) else {
            throw MediaError(.invalidState, "the date of this machine is not valid")
        }
        try change { (packager) throws(MediaError) in
            try packager.add(unit, rendition: rendition, at: MonotonicClock.now, date: date)
        }
    }

    /// Ends the connection of a rendition; see ``LivePackager/close(rendition:isLast:at:)``.
    func close(rendition: Int = 0, isLast: Bool) throws(MediaError) {
        try change { (packager) throws(MediaError) in
            try packager.close(rendition: rendition, isLast: isLast, at: MonotonicClock.now)
        }
    }

    private func change(_ body: (inout LivePackager) throws(MediaError) -> Void) throws(MediaError) {
        try packager.withLock { (packager) throws(MediaError) in try body(&packager) }
    }

    /// The milliseconds since 1970.
    private static var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Caches keep the files of an earlier stream, so those of this one have other names.
    private static var token: String { String(max(milliseconds, 0), radix: 36) }
}

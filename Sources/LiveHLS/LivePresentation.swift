// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes
internal import Streaming
internal import StreamingPlaylists
internal import Synchronization

/// A presentation that outlives connections: each of them continues its playlists.
final class LivePresentation: Sendable {
    private let packager: Mutex<LivePackager>

    /// - Throws: `invalidArgument` for options out of range.
    init(_ options: HLSOptions, store: any LiveStore) throws(MediaError) {
        packager = Mutex(try LivePackager(options, store: store, token: Self.token))
    }

    /// Begins with the units of a connection; see ``LivePackager/begin(_:at:)``.
    func begin(_ tracks: LiveTracks) throws(MediaError) {
        try change { (packager) throws(MediaError) in try packager.begin(tracks, at: MonotonicClock.now) }
    }

    /// Adds a unit; see ``LivePackager/add(_:at:date:)``.
    func add(_ unit: LiveUnit) throws(MediaError) {
        guard let date = WallClockTime(milliseconds: Self.milliseconds) else {
            throw MediaError(.invalidState, "the date of this machine is not valid")
        }
        try change { (packager) throws(MediaError) in
            try packager.add(unit, at: MonotonicClock.now, date: date)
        }
    }

    /// Ends the playlists.
    func finish() throws(MediaError) {
        try change { (packager) throws(MediaError) in try packager.finish(at: MonotonicClock.now) }
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

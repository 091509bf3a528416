// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Streaming

/// A connection of a live output to a presentation: what is sent becomes parts and segments. Nobody can hold it up.
final class HLSConnection: LiveConnection {
    private(set) var measurements = LinkMeasurements()

    private let presentation: LivePresentation
    private let stop: StopSignal
    private let atEnd: (StopSignal) -> Void

    /// Begins or continues the presentation.
    ///
    /// - Parameters:
    ///   - atEnd: Called when the playlists have ended, to wait for players that want the end.
    /// - Throws: As ``LivePackager/begin(_:at:)``.
    init(
        to presentation: LivePresentation,
        tracks: LiveTracks,
        stop: StopSignal,
        atEnd: @escaping (StopSignal) -> Void
    ) throws(MediaError) {
        (self.presentation, self.stop, self.atEnd) = (presentation, stop, atEnd)
        try presentation.begin(tracks)
    }

    func send(_ unit: LiveUnit) throws(MediaError) {
        guard !stop.isStopped else { throw StopSignal.stopped }
        try presentation.add(unit)
        measurements.sentBytes += Int64(unit.byteCount)
    }

    func finish() throws(MediaError) {
        try presentation.finish()
        atEnd(stop)
    }
}

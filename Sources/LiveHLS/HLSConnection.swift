// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Streaming

/// A connection of a live output to a presentation: what is sent becomes parts and segments. Nobody can hold it up.
final class HLSConnection: LiveConnection {
    private let presentation: LivePresentation
    private let stop: StopSignal
    private let place: any HLSPlace
    private var sentBytes: Int64 = 0

    /// Begins or continues the presentation.
    ///
    /// - Parameter place: Where the presentation is, which is ready.
    /// - Throws: As ``LivePackager/begin(_:at:)``.
    init(
        to presentation: LivePresentation,
        at place: any HLSPlace,
        tracks: LiveTracks,
        stop: StopSignal
    ) throws(MediaError) {
        (self.presentation, self.stop, self.place) = (presentation, stop, place)
        try presentation.begin(tracks)
    }

    deinit { place.disconnect() }

    /// What the place measures, or that everything is there at once.
    var measurements: LinkMeasurements {
        if let measured = place.measurements { return measured }
        var link = LinkMeasurements()
        link.sentBytes = sentBytes
        return link
    }

    func send(_ unit: LiveUnit) throws(MediaError) {
        guard !stop.isStopped else { throw StopSignal.stopped }
        try place.check()
        try presentation.add(unit)
        sentBytes += Int64(unit.byteCount)
    }

    func finish() throws(MediaError) {
        try presentation.finish()
        try place.finish(stop)
    }
}

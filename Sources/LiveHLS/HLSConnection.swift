// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Streaming

/// A connection of a live output to a presentation: what is sent becomes parts and segments. Nobody can hold it up.
final class HLSConnection: LiveConnection {
    private let presentation: LivePresentation
    private let rendition: Int
    private let stop: StopSignal
    private let place: any HLSPlace
    private var sentBytes: Int64 = 0

    /// Begins or continues the presentation.
    ///
    /// - Parameters:
    ///   - rendition: The number of the rendition that it brings.
    ///   - place: Where the presentation is, which is ready.
    /// - Throws: As ``LivePackager/begin(_:rendition:at:)``.
    init(
        to presentation: LivePresentation,
        rendition: Int,
        at place: any HLSPlace,
        tracks: LiveTracks,
        stop: StopSignal
    ) throws(MediaError) {
        (self.presentation, self.rendition, self.stop, self.place) = (presentation, rendition, stop, place)
        try presentation.begin(tracks, rendition: rendition)
    }

    deinit {
        // If it was lost, the connections of other renditions do not wait for it at the end.
        try? presentation.close(rendition: rendition, isLast: false)
        place.disconnect()
    }

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
        try presentation.add(unit, rendition: rendition)
        sentBytes += Int64(unit.byteCount)
    }

    func finish() throws(MediaError) {
        try presentation.close(rendition: rendition, isLast: true)
        try place.finish(stop)
    }
}

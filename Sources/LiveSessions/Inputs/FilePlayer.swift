// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import Capture
package import HostSystem
internal import MediaIO
internal import MediaTimeline
internal import MediaTypes
internal import Synchronization

/// Plays a file, or reads a live URL, as if it were a device: its pictures and its sound have times of
/// `CLOCK_MONOTONIC`.
///
/// It delivers everything a little before it is due. If the consumer is slower, the file waits; nothing is dropped.
///
/// A live URL delivers when it does. It has no end: where its sender stops, `unavailable` is thrown, so that a
/// `DeviceReader` opens it again until the sender is back. If it stays late after a stall, its times jump forward.
final class FilePlayer {
    /// What is played.
    struct Request: Sendable {
        /// The paths or URLs, one after the other.
        var paths: [String]
        /// Whether the first one follows the last one, for ever.
        var isLooped = false
        /// Whether the inputs deliver at their own speed, as live URLs do.
        var isLive = false
        /// Which addresses a live URL may name; `nil` for all.
        var addresses: AddressPolicy?
        /// The options for reading them.
        var source = MediaSource.Options()
    }

    /// How long before its time an item is delivered, in seconds.
    private static let lead = 0.25
    /// How long after it was opened a file begins.
    private static let delay = MediaTime(value: 1, timescale: 10)
    /// The duration of a picture where neither the picture nor the file states any.
    private static let pictureDuration = MediaTime(value: 1, timescale: 25)

    let contents: LiveContents
    private let request: Request
    private let stop: StopSignal
    private let cancellation: Cancellation
    private var source: MediaSource
    private var index = 0
    /// The time of `CLOCK_MONOTONIC` at which the present file began.
    private var start: MediaTime
    /// The end of everything of the present file.
    private var end = MediaTime.zero
    /// When the present round of files began.
    private var roundStart: MediaTime
    private var lateness = LiveLateness()
    private var track: MediaTrack?
    private var decoder: AudioDecoder?
    private var waiting: [LiveItem] = []
    private var isAtEnd = false

    /// Opens the first file.
    ///
    /// - Throws: As `MediaSource.init`.
    init(_ request: Request, stop: StopSignal, cancellation: Cancellation) throws(MediaError) {
        guard let first = request.paths.first else {
            throw MediaError(.invalidArgument, "a playlist is empty", allowed: "one file or more")
        }
        (self.request, self.stop, self.cancellation) = (request, stop, cancellation)
        source = try Self.open(first, request, stop, cancellation)
        (track, decoder) = try Self.sound(of: source)
        let video = source.video
        var contents = LiveContents(
            pictures: PictureStream(
                width: video.width,
                height: video.height,
                frameRate: video.isVariableFrameRate ? nil : video.nominalFrameRate,
                format: video.codecName
            ),
            sound: track?.audio?.decodedFormat
        )
        contents.pixelAspectRatio = video.pixelAspectRatio
        self.contents = contents
        start = MonotonicClock.now + Self.delay
        roundStart = start
    }

    private static func open(
        _ path: String,
        _ request: Request,
        _ stop: StopSignal,
        _ cancellation: Cancellation
    ) throws(MediaError) -> MediaSource {
        if stop.isStopped { throw StopSignal.stopped }
        var (path, options) = (path, request.source)
        if let policy = request.addresses, InputAddress(text: path).scheme != nil {
            let pinned = try PinnedInput(InputAddress(text: path), policy)
            (path, options.format) = (pinned.url, pinned.format)
        }
        do throws(MediaError) {
            return try MediaSource(path: path, options: options, cancellation: cancellation)
        } catch {
            throw InputAddress(text: path).redacting(error)
        }
    }

    private static func sound(of source: MediaSource) throws(MediaError) -> (MediaTrack?, AudioDecoder?) {
        for track in source.tracks where track.kind == .audio {
            guard let description = track.audio, description.decodedFormat != nil else { continue }
            return (track, try AudioDecoder(description))
        }
        return (nil, nil)
    }

    /// Returns the next item when it is due soon; `nil` at the end.
    func next() throws(MediaError) -> LiveItem? {
        while waiting.isEmpty {
            if isAtEnd { return nil }
            try readMore()
        }
        let item = waiting.removeFirst()
        if !request.isLive { try waitUntilDue(item) }
        if stop.isStopped { throw StopSignal.stopped }
        return item
    }

    private func waitUntilDue(_ item: LiveItem) throws(MediaError) {
        guard let time = item.time else { return }
        while true {
            let wait = (time - MonotonicClock.now).seconds - Self.lead
            guard wait > 0 else { return }
            try stop.wait(for: [], until: Int32(min(wait * 1000, 60_000).rounded(.up)))
        }
    }

    /// Returns the time of `CLOCK_MONOTONIC` for a time of the present file.
    private func place(_ time: MediaTime) -> MediaTime {
        if request.isLive, let shift = lateness.shift(for: start + time, at: MonotonicClock.now) {
            start = start + shift + Self.delay
        }
        return (start + time).converted(to: 1_000_000_000)
    }

    private func readMore() throws(MediaError) {
        switch try source.next() {
        case .frame(let frame):
            let isStated = frame.duration.isValid && frame.duration > .zero
            end = max(end, frame.presentationTime + (isStated ? frame.duration : Self.pictureDuration))
            waiting.append(.picture(CapturedPicture(frame.buffer, time: place(frame.presentationTime))))
        case .packet(let packet):
            guard packet.track === track, let decoder else { return }
            append(try decoder.decode(packet.audioSample()))
        case nil:
            if let decoder { append(try decoder.finish()) }
            try openNext()
        }
    }

    private func append(_ buffers: [AudioBuffer]) {
        for var buffer in buffers {
            if buffer.presentationTime.isValid {
                end = max(end, buffer.presentationTime + buffer.duration)
                buffer.presentationTime = place(buffer.presentationTime)
            }
            waiting.append(.sound(buffer))
        }
    }

    private func openNext() throws(MediaError) {
        // Who sends to a live URL may come back.
        if request.isLive {
            throw MediaError(
                .unavailable,
                "the live input has ended",
                given: InputAddress(text: request.paths[0]).redacted
            )
        }
        (start, end) = (start + end, .zero)
        index += 1
        if index == request.paths.count {
            guard request.isLooped else {
                isAtEnd = true
                return
            }
            guard start > roundStart else {
                throw MediaError(
                    .malformedData,
                    "the files of a loop have neither pictures nor sound",
                    given: request.paths.joined(separator: ", ")
                )
            }
            (index, roundStart) = (0, start)
        }
        source = try Self.open(request.paths[index], request, stop, cancellation)
        (track, decoder) = try Self.sound(of: source)
    }
}

extension LiveInput {
    /// Makes an input that plays files, or reads a live URL.
    ///
    /// - Parameters:
    ///   - paths: The paths or URLs, one after the other.
    ///   - isLooped: Whether the first one follows the last one, for ever.
    ///   - waitsAtStart: Whether a live URL that cannot be opened at the start is waited for.
    ///   - addresses: Which addresses a URL may name, in one of the protocols of live URLs; `nil` for all.
    /// - Returns: The input, which one session at a time can use.
    package static func files(
        _ paths: [String],
        isLooped: Bool = false,
        waitsAtStart: Bool = false,
        addresses policy: AddressPolicy? = nil
    ) -> LiveInput {
        let addresses = paths.map { InputAddress(text: $0) }
        let isLive = paths.count == 1 && addresses[0].isLive
        var options = Reader.Options()
        // Pictures and packets of sound that a thread has read ahead.
        options.waiting = isLive ? 60 : 8
        options.waitsForConsumer = !isLive
        options.reopens = isLive
        options.waitsAtStart = isLive && waitsAtStart
        var request = FilePlayer.Request(paths: paths)
        (request.isLooped, request.isLive, request.addresses) = (isLooped, isLive, policy)
        let present = Mutex<Cancellation?>(nil)
        var input = LiveInput(name: addresses.map(\.redacted).joined(separator: ", "), options: options) {
            [request] stop throws(MediaError) in
            let cancellation = Cancellation()
            present.withLock { $0 = cancellation }
            let player = try FilePlayer(request, stop: stop, cancellation: cancellation)
            return (player.contents, { () throws(MediaError) in try player.next() })
        }
        input.isPatient = !isLive
        input.interrupt = { present.withLock { $0?.cancel() } }
        return input
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaTypes

/// Cuts a track of audio where the leading track is cut: with the first packet at or after each boundary.
///
/// Packets wait until it is decided whether they are before or after a boundary. A boundary waits for the packet after
/// it, for a limited time, so that a track that delivers nothing does not stop its playlist.
struct Follower {
    /// What becomes of the track.
    enum Action {
        /// It begins at a time.
        case begin(MediaTime)
        case write(AudioSample, duration: MediaTime)
        case close(Boundary)
    }

    /// The number of the track.
    let track: Int
    private let packetDuration: MediaTime
    private let start: MediaTime
    private var hasBegun = false
    private var waiting: [AudioSample] = []
    private var boundaries: [Boundary] = []
    /// The end of the last packet.
    private(set) var end: MediaTime

    /// How long a boundary waits for a packet.
    static let patience = MediaTime(value: 1, timescale: 1)

    /// - Parameters:
    ///   - packetDuration: The usual duration of a packet.
    ///   - start: The time of the first picture; earlier packets are left out.
    init(track: Int, packetDuration: MediaTime, start: MediaTime) {
        (self.track, self.packetDuration, self.start) = (track, packetDuration, start)
        end = start
    }

    mutating func append(_ packet: AudioSample) {
        if packet.presentationTime.isValid { waiting.append(packet) }
    }

    mutating func append(_ boundary: Boundary) { boundaries.append(boundary) }

    /// Returns what is to be done next; `nil` until more is known.
    ///
    /// - Parameter horizon: The time up to which all boundaries are known.
    mutating func next(horizon: MediaTime) -> Action? {
        while let packet = waiting.first {
            let time = packet.presentationTime
            guard hasBegun else {
                if time >= start { return begin(time) }
                waiting.removeFirst()
                continue
            }
            guard let boundary = boundaries.first, time >= boundary.end else {
                guard time < horizon else { return nil }
                return write(waiting.removeFirst())
            }
            if time >= boundary.next { return close(boundaries.removeFirst(), before: time) }
            waiting.removeFirst()
        }
        guard hasBegun, let boundary = boundaries.first, horizon - boundary.end > Self.patience else { return nil }
        return close(boundaries.removeFirst(), before: nil)
    }

    /// Returns what is left, without boundaries.
    mutating func finish() -> [Action] {
        guard hasBegun else { return [] }
        defer { waiting = [] }
        return waiting.map { write($0) }
    }

    private mutating func begin(_ time: MediaTime) -> Action {
        hasBegun = true
        end = time
        boundaries.removeAll { $0.end <= time }
        return .begin(time)
    }

    private mutating func write(_ packet: AudioSample) -> Action {
        let isStated = packet.duration.isValid && packet.duration > .zero
        let duration = isStated ? packet.duration : packetDuration
        end = packet.presentationTime + duration
        return .write(packet, duration: duration)
    }

    private func close(_ boundary: Boundary, before time: MediaTime?) -> Action {
        var result = boundary
        result.end = max(boundary.end, min(end, boundary.end + packetDuration))
        let isContinued = boundary.kind != .discontinuity || boundary.end == boundary.next
        result.next = isContinued ? result.end : max(time ?? boundary.next, result.end)
        return .close(result)
    }
}

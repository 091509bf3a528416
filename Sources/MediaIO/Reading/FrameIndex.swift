// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
package import MediaTypes

/// The pictures of an input's video in the order in which they are shown, as the packets of the container state them.
///
/// It is made without decoding, so it takes each packet that is shown for one picture. Who relies on it compares it with
/// the pictures that are decoded.
package struct FrameIndex: Sendable, Hashable {
    /// A picture.
    package struct Frame: Sendable, Hashable {
        /// The presentation time on the timeline of the output, as ``MediaSource/next()`` returns it.
        package var presentationTime: MediaTime
        /// Whether the container lists it as a key frame, so that decoding can begin there.
        package var isEntry: Bool
        /// The size of its packet in bytes.
        package var byteCount: Int

        /// Makes a picture.
        package init(presentationTime: MediaTime, isEntry: Bool, byteCount: Int) {
            self.presentationTime = presentationTime
            self.isEntry = isEntry
            self.byteCount = byteCount
        }
    }

    /// The pictures, at least one, with ascending times.
    package var frames: [Frame]
    /// The end of the last picture, on the timeline of the output.
    package var end: MediaTime
    /// The distance from the earliest start of a stream to time zero of the output: what has to be added to a time to make it
    /// a ``MediaSource/Options/start``.
    package var offset: MediaTime

    /// Makes an index of pictures with ascending times.
    package init(frames: [Frame], end: MediaTime, offset: MediaTime = .zero) {
        self.frames = frames
        self.end = end
        self.offset = offset
    }
}

/// Collects the packets of a video.
struct FrameIndexBuilder {
    /// A packet with its presentation time in ticks.
    struct Packet {
        var time: Int64
        var duration: Int64
        var isEntry: Bool
        var byteCount: Int
    }

    private(set) var packets: [Packet] = []

    /// Adds a packet if its picture is shown.
    ///
    /// - Throws: `unsupported` if it states no presentation time.
    mutating func add(_ packet: AVPacket) throws(MediaError) {
        // An edit list hides it; it is only decoded.
        if packet.flags & AV_PKT_FLAG_DISCARD != 0 { return }
        guard packet.pts != ffmpeg_no_pts else { throw Self.refusal("it does not state when its pictures are shown") }
        packets.append(
            Packet(
                time: packet.pts,
                duration: packet.duration,
                isEntry: packet.flags & AV_PKT_FLAG_KEY != 0,
                byteCount: Int(packet.size)
            )
        )
    }

    /// Returns the packets in the order of their times.
    ///
    /// - Throws: `unsupported` if two have the same time.
    func sorted() throws(MediaError) -> [Packet] {
        let sorted = packets.sorted { $0.time < $1.time }
        if zip(sorted, sorted.dropFirst()).contains(where: { $0.time == $1.time }) {
            throw Self.refusal("two of its pictures have the same time")
        }
        return sorted
    }

    static func refusal(_ reason: String) -> MediaError {
        MediaError(.unsupported, "the pictures of the input cannot be told without decoding it: \(reason)")
    }
}

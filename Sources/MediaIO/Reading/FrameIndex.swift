// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
package import MediaTypes

/// The pictures of an input's video in presentation order, as the packets state them.
///
/// It is made without decoding, and counts each packet that no edit list hides as one picture: compare it with the
/// pictures that are decoded.
package struct FrameIndex: Sendable, Hashable {
    /// A picture.
    package struct Frame: Sendable, Hashable {
        /// The presentation time on the timeline of the output, as ``MediaSource/next()`` returns it.
        package var presentationTime: MediaTime
        /// Whether the container lists it as a key frame.
        package var isKeyFrame: Bool
        /// The size of its packet in bytes.
        package var byteCount: Int
        /// A digest of its packet, to tell inputs apart; not for protection against forgery.
        package var digest: UInt64

        /// Makes a picture.
        package init(presentationTime: MediaTime, isKeyFrame: Bool, byteCount: Int, digest: UInt64 = 0) {
            self.presentationTime = presentationTime
            self.isKeyFrame = isKeyFrame
            self.byteCount = byteCount
            self.digest = digest
        }
    }

    /// The pictures, at least one, with ascending times.
    package var frames: [Frame]
    /// The end of the last picture, on the timeline of the output.
    package var end: MediaTime
    /// What to add to a time of this index to get a value for ``MediaSource/Options/start``: the distance from the earliest
    /// start of a stream to time zero of the output.
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
        var isKeyFrame: Bool
        var byteCount: Int
        var digest: UInt64
    }

    private(set) var packets: [Packet] = []

    /// Adds a packet if its picture is shown.
    ///
    /// - Throws: `unsupported` if it states no presentation time.
    mutating func add(_ packet: AVPacket) throws(MediaError) {
        // An edit list hides it; it is only decoded.
        if packet.flags & AV_PKT_FLAG_DISCARD != 0 { return }
        guard packet.pts != ffmpeg_no_pts else { throw Self.refusal("a packet has no presentation time") }
        packets.append(
            Packet(
                time: packet.pts,
                duration: packet.duration,
                isKeyFrame: packet.flags & AV_PKT_FLAG_KEY != 0,
                byteCount: Int(packet.size),
                digest: Self.digest(UnsafeRawBufferPointer(start: packet.data, count: Int(packet.size)))
            )
        )
    }

    /// FNV-1a of 64 bits, by words.
    static func digest(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ word: UInt64) { digest = (digest ^ word) &* 0x0000_0100_0000_01B3 ^ digest >> 32 }
        let words = bytes.count / 8
        for word in 0..<words { add(bytes.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)) }
        for byte in bytes[(words * 8)...] { add(UInt64(byte)) }
        return digest
    }

    /// Returns the packets in the order of their times.
    ///
    /// - Throws: `unsupported` if two have the same time.
    func sorted() throws(MediaError) -> [Packet] {
        let sorted = packets.sorted { $0.time < $1.time }
        if zip(sorted, sorted.dropFirst()).contains(where: { $0.time == $1.time }) {
            throw Self.refusal("two packets have the same presentation time")
        }
        return sorted
    }

    static func refusal(_ reason: String) -> MediaError {
        MediaError(.unsupported, "the packets do not state the times of all pictures: \(reason)")
    }
}

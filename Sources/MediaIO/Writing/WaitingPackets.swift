// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes

/// Packets of copied tracks that wait for the video: for the first sample, since no header can be written without it, and then
/// for those beside which they belong.
///
/// They wait in memory up to a bound. An encoder may want dozens of pictures before it gives its first sample, and where a
/// picture is shown for a minute, as slides are, hours of sound come before: the data of what is above the bound wait in a
/// temporary file, which goes with this object.
final class WaitingPackets {
    /// A packet, with where its data are in the file if they are not in the packet.
    private struct Entry {
        let packet: MediaPacket
        let stored: Range<Int64>?
        let byteCount: Int
        /// When it is decoded; `nil` if it does not say.
        let time: MediaTime?
    }

    /// The packets of a track, in the order of their coming.
    private struct Queue {
        let track: MediaTrack
        private var entries: [Entry?] = []
        private var head = 0

        init(_ track: MediaTrack) { self.track = track }

        var first: Entry? { head < entries.count ? entries[head] : nil }

        mutating func append(_ entry: Entry) { entries.append(entry) }

        mutating func removeFirst() {
            entries[head] = nil
            head += 1
            guard head > entries.count / 2 else { return }
            entries.removeFirst(head)
            head = 0
        }
    }

    private var queues: [Queue] = []
    private var count = 0
    private var countInFile = 0
    private var bytesInMemory = 0
    private var file: OutputFile?

    private let folder: String
    private let mostBytesInMemory: Int

    /// Describes no packets.
    ///
    /// - Parameters:
    ///   - folder: Where the temporary file is made, if it has to be.
    ///   - mostBytesInMemory: The bound, in bytes of data.
    init(folder: String, mostBytesInMemory: Int = 64 << 20) {
        self.folder = folder
        self.mostBytesInMemory = mostBytesInMemory
    }

    /// Whether none wait.
    var isEmpty: Bool { count == 0 }

    /// Keeps a packet.
    ///
    /// - Throws: `inputOutput` if it does not fit into memory, nor onto the disk.
    func append(_ packet: MediaPacket) throws(MediaError) {
        guard bytesInMemory + packet.byteCount > mostBytesInMemory else {
            bytesInMemory += packet.byteCount
            keep(packet, of: packet, stored: nil)
            return
        }
        let file = try openFile()
        let start = file.bytesWritten
        try file.write(UnsafeRawBufferPointer(start: packet.packet.pointee.data, count: packet.byteCount))
        keep(try packet.withoutData(), of: packet, stored: start..<file.bytesWritten)
        countInFile += 1
    }

    private func keep(_ kept: MediaPacket, of packet: MediaPacket, stored: Range<Int64>?) {
        let time = try? packet.times().decode
        let entry = Entry(packet: kept, stored: stored, byteCount: packet.byteCount, time: time)
        count += 1
        let known = queues.firstIndex { $0.track === packet.track }
        if known == nil { queues.append(Queue(packet.track)) }
        queues[known ?? queues.count - 1].append(entry)
    }

    /// Gives packets away, those of each track in the order of their coming, and the tracks in the order of their times.
    ///
    /// - Parameter limit: The decode time of the last packets that are given; `nil` for all.
    /// - Throws: What `body` throws; `inputOutput` if the temporary file cannot be read. Then the rest is lost.
    func drain(
        upTo limit: MediaTime? = nil,
        _ body: (MediaPacket) throws(MediaError) -> Void
    ) throws(MediaError) {
        do {
            while let entry = removeFirst(upTo: limit) { try body(packet(of: entry)) }
        } catch {
            discard()
            throw error
        }
        if countInFile == 0 { discardFile() }
    }

    /// Takes the packet that is decoded before all others; one without time holds nothing up.
    private func removeFirst(upTo limit: MediaTime?) -> Entry? {
        var next: (index: Int, entry: Entry)?
        for (index, queue) in queues.enumerated() {
            guard let entry = queue.first else { continue }
            if let other = next, (other.entry.time ?? .earliest) <= (entry.time ?? .earliest) { continue }
            next = (index, entry)
        }
        guard let (index, entry) = next else { return nil }
        if let limit, let time = entry.time, time > limit { return nil }
        queues[index].removeFirst()
        count -= 1
        if entry.stored == nil { bytesInMemory -= entry.byteCount } else { countInFile -= 1 }
        return entry
    }

    private func packet(of entry: Entry) throws(MediaError) -> MediaPacket {
        guard let file, let stored = entry.stored else { return entry.packet }
        let bytes = try file.read(stored.count, at: stored.lowerBound)
        guard bytes.count == stored.count else {
            throw MediaError(.inputOutput, "the temporary file was truncated", given: file.path)
        }
        return try entry.packet.withData(bytes)
    }

    /// Forgets the packets.
    func discard() {
        (queues, count, countInFile, bytesInMemory) = ([], 0, 0, 0)
        discardFile()
    }

    private func discardFile() {
        file?.discard()
        file = nil
    }

    private func openFile() throws(MediaError) -> OutputFile {
        if let file { return file }
        let place = OutputTarget.RegularFile(
            givenPath: "\(folder) (packets that wait for the first video sample)",
            folder: folder,
            name: "",
            overwrite: false,
            replacedMode: 0o600
        )
        let opened = try OutputFile(.file(place))
        file = opened
        return opened
    }
}

extension MediaTime {
    fileprivate static let earliest = MediaTime(value: .min, timescale: 1)
}

extension MediaPacket {
    /// The same packet with its times and side data, and without data.
    fileprivate func withoutData() throws(MediaError) -> MediaPacket {
        var copy = av_packet_alloc()
        guard let copied = copy else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_alloc")
        }
        let status = av_packet_copy_props(copied, packet)
        guard status >= 0 else {
            av_packet_free(&copy)
            throw MediaError(
                .outOfMemory,
                "no memory for a packet",
                call: "av_packet_copy_props",
                status: Int(status)
            )
        }
        return MediaPacket(track: track, taking: copied)
    }

    /// The same packet with its times and side data, and with these data.
    fileprivate func withData(_ bytes: [UInt8]) throws(MediaError) -> MediaPacket {
        let copy = try withoutData()
        try check(av_grow_packet(copy.packet, Int32(bytes.count)), "av_grow_packet", "no memory for a packet")
        UnsafeMutableRawBufferPointer(start: copy.packet.pointee.data, count: bytes.count).copyBytes(from: bytes)
        return copy
    }
}

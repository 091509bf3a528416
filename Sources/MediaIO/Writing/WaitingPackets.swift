// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

/// Packets of copied tracks that wait for the video: for the first sample, because the header cannot be written without
/// it, and then for the samples with which they are interleaved.
///
/// They wait in memory up to a limit. An encoder may need dozens of pictures before it returns its first sample, and if
/// pictures are shown for a minute each, as slides are, the audio of hours precedes it. Data above the limit waits in a
/// temporary file, which is deleted with this object.
final class WaitingPackets {
    /// A packet, with the location of its data in the file if it is not in memory.
    private struct Entry {
        let packet: MediaPacket
        let stored: Range<Int64>?
        let byteCount: Int
        /// The decode time; `nil` if there is none.
        let time: MediaTime?
    }

    /// The packets of a track, in the order of their arrival.
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

    /// Makes an empty queue.
    ///
    /// - Parameters:
    ///   - folder: The folder of the temporary file, if one is needed.
    ///   - mostBytesInMemory: The limit, in bytes of data.
    init(folder: String, mostBytesInMemory: Int = 64 << 20) {
        self.folder = folder
        self.mostBytesInMemory = mostBytesInMemory
    }

    /// Whether no packets are waiting.
    var isEmpty: Bool { count == 0 }

    /// Adds a packet.
    ///
    /// - Throws: `inputOutput` if its data fits neither into memory nor onto the disk.
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

    /// Removes packets in the order of their times, with those of each track in the order of their arrival.
    ///
    /// - Parameter limit: The decode time up to which packets are removed; `nil` for all.
    /// - Throws: Any error of `body`; `inputOutput` if the temporary file cannot be read. Then the remaining packets
    ///   are lost.
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

    /// Removes the packet with the earliest decode time; one without a time is removed at once.
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

    /// Discards the packets.
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
    /// Returns the same packet with its times and side data, and without data.
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

    /// Returns the same packet with its times and side data, and with the given data.
    fileprivate func withData(_ bytes: [UInt8]) throws(MediaError) -> MediaPacket {
        let copy = try withoutData()
        try check(av_grow_packet(copy.packet, Int32(bytes.count)), "av_grow_packet", "no memory for a packet")
        UnsafeMutableRawBufferPointer(start: copy.packet.pointee.data, count: bytes.count).copyBytes(from: bytes)
        return copy
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes

/// Packets of copied tracks that wait for the first video sample, since no header can be written without it.
///
/// They wait in memory up to a bound. An encoder may want dozens of pictures before it gives its first sample, and where a
/// picture is shown for a minute, as slides are, hours of sound come before: the data of what is above the bound wait in a
/// temporary file, which goes with this object.
final class WaitingPackets {
    /// Each with where its data are in the file, if they are not in the packet.
    private var packets: [(packet: MediaPacket, stored: Range<Int64>?)] = []
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

    /// Keeps a packet.
    ///
    /// - Throws: `inputOutput` if it does not fit into memory, nor onto the disk.
    func append(_ packet: MediaPacket) throws(MediaError) {
        guard bytesInMemory + packet.byteCount > mostBytesInMemory else {
            bytesInMemory += packet.byteCount
            packets.append((packet, nil))
            return
        }
        let file = try openFile()
        let start = file.bytesWritten
        try file.write(UnsafeRawBufferPointer(start: packet.packet.pointee.data, count: packet.byteCount))
        packets.append((try packet.withoutData(), start..<file.bytesWritten))
    }

    /// Gives the packets away, in the order of their coming.
    ///
    /// - Throws: What `body` throws; `inputOutput` if the temporary file cannot be read. Then the rest is lost.
    func drain(_ body: (MediaPacket) throws(MediaError) -> Void) throws(MediaError) {
        defer { discard() }
        for (packet, stored) in packets {
            guard let file, let stored else {
                try body(packet)
                continue
            }
            let bytes = try file.read(stored.count, at: stored.lowerBound)
            guard bytes.count == stored.count else {
                throw MediaError(.inputOutput, "the temporary file has become shorter", given: file.path)
            }
            try body(packet.withData(bytes))
        }
    }

    /// Forgets the packets.
    func discard() {
        (packets, bytesInMemory) = ([], 0)
        file?.discard()
        file = nil
    }

    private func openFile() throws(MediaError) -> OutputFile {
        if let file { return file }
        let place = OutputTarget.RegularFile(
            givenPath: "\(folder) (tracks that wait for the first video sample)",
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

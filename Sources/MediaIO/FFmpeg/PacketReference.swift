// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTypes

/// Owns one `AVPacket` until it is taken.
final class PacketReference: @unchecked Sendable {
    private(set) var packet: UnsafeMutablePointer<AVPacket>?

    /// Moves the contents of a packet, which is blank afterwards.
    init(moving other: UnsafeMutablePointer<AVPacket>) throws(MediaError) {
        packet = av_packet_alloc()
        guard let packet else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_alloc")
        }
        av_packet_move_ref(packet, other)
    }

    /// Takes ownership of a packet.
    init(taking packet: UnsafeMutablePointer<AVPacket>) { self.packet = packet }

    deinit { av_packet_free(&packet) }

    /// Transfers the packet to the caller, who has to free it.
    func take() -> UnsafeMutablePointer<AVPacket>? {
        defer { packet = nil }
        return packet
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// The order of the tables in front of key frames in a transport stream.
///
/// libavformat writes the service description before the program association and the program map. Players look for these
/// two in the first two packets of a segment (RFC 8216 3.2), and an I-frame begins with them as well.
enum TransportTables {
    private static let packetSize = 188
    private static let serviceDescription = 0x11
    private static let programAssociation = 0

    /// Moves each service description, of one packet, behind the two tables that follow it. Sizes and the counters of
    /// every PID stay as they are.
    static func putProgramFirst(_ bytes: inout [UInt8]) {
        func pid(_ packet: Int) -> Int {
            let start = packet * packetSize
            return Int(bytes[start + 1] & 0x1F) << 8 | Int(bytes[start + 2])
        }
        let count = bytes.count / packetSize
        var packet = 0
        while packet + 2 < count {
            let isMisplaced = pid(packet) == serviceDescription && pid(packet + 1) == programAssociation
            guard isMisplaced else {
                packet += 1
                continue
            }
            let start = packet * packetSize
            let description = bytes[start..<start + packetSize]
            bytes.replaceSubrange(
                start..<start + 3 * packetSize,
                with: bytes[start + packetSize..<start + 3 * packetSize] + description
            )
            packet += 3
        }
    }
}

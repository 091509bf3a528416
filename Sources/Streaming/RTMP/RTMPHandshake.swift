// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The client's side of the simple handshake: RTMP 5.2.
struct RTMPHandshake: Sendable {
    private static let version: UInt8 = 3
    /// The bytes of C1, C2, S1 and S2.
    static let partByteCount = 1536

    /// C0 and C1, which the client sends first: a version, a time and a version of zero, and random bytes.
    let opening: [UInt8]
    private var received: [UInt8] = []
    private var hasAnswered = false

    init(random: inout some RandomNumberGenerator) {
        var bytes: [UInt8] = [Self.version, 0, 0, 0, 0, 0, 0, 0, 0]
        while bytes.count < 1 + Self.partByteCount { bytes.append(bigEndian: random.next() as UInt64, count: 8) }
        opening = bytes
    }

    /// Takes bytes from the server.
    ///
    /// - Returns: C2 when S1 is complete, for the client to send, and the bytes behind S2 when it is complete; `nil`
    ///   before that.
    /// - Throws: `malformedData` if the server speaks another protocol.
    mutating func receive(
        _ bytes: ArraySlice<UInt8>
    ) throws(MediaError) -> (answer: [UInt8], rest: ArraySlice<UInt8>?) {
        received += bytes
        if let first = received.first, first != Self.version {
            throw MediaError(
                .malformedData,
                "the server does not answer as an RTMP server does",
                given: "version \(first)",
                allowed: "version \(Self.version)"
            )
        }
        var answer: [UInt8] = []
        if !hasAnswered, received.count > Self.partByteCount {
            answer = Array(received[1...Self.partByteCount])
            hasAnswered = true
        }
        let end = 1 + 2 * Self.partByteCount
        return (answer, received.count >= end ? received[end...] : nil)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// Chooses the times that decoded pictures state: the presentation times of their packets or, if those of a file are
/// less regular, decode times. All in ticks of the stream's time base.
///
/// It follows the rule of libavcodec's `best_effort_timestamp`, for decoders that return only the packet of a picture:
/// times that are not after the previous one are counted, and the kind with fewer of them is used.
package struct StatedTimes: Sendable {
    /// More packets than a decoder delays.
    private static let mostWaiting = 1024

    private let reorderDepth: Int
    /// The decode times of the packets that follow the one that was used last.
    private var decodeTimes: [Int64?] = []
    private var hasBegun = false
    private var (faultyPresentation, faultyDecode) = (0, 0)
    private var (lastPresentation, lastDecode): (Int64, Int64) = (.min, .min)

    /// - Parameter reorderDepth: The number of packets by which the decoder delays pictures. The decode time of a picture is
    ///   that of the packet with which it is due.
    package init(reorderDepth: Int) { self.reorderDepth = reorderDepth }

    /// Adds the decode time of a packet, in decoding order.
    package mutating func add(_ decodeTime: Int64?) {
        decodeTimes.append(decodeTime)
        // Samples without pictures leave theirs behind.
        if decodeTimes.count > Self.mostWaiting { decodeTimes.removeFirst(Self.mostWaiting / 2) }
    }

    /// Returns the time of the next picture, in presentation order; `nil` if there is none.
    ///
    /// - Parameter presentationTime: The presentation time of its packet.
    package mutating func next(_ presentationTime: Int64?) -> Int64? {
        if !hasBegun {
            hasBegun = true
            decodeTimes.removeFirst(min(reorderDepth, decodeTimes.count))
        }
        let decodeTime = decodeTimes.isEmpty ? nil : decodeTimes.removeFirst()
        if let decodeTime {
            if decodeTime <= lastDecode { faultyDecode += 1 }
            lastDecode = decodeTime
        } else if let presentationTime {
            lastDecode = presentationTime
        }
        if let presentationTime {
            if presentationTime <= lastPresentation { faultyPresentation += 1 }
            lastPresentation = presentationTime
        } else if let decodeTime {
            lastPresentation = decodeTime
        }
        guard let presentationTime, faultyPresentation <= faultyDecode || decodeTime == nil else { return decodeTime }
        return presentationTime
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// The time that a picture with a buffering period spends in the coded picture buffer for one delivery schedule, in
/// units of 1/90000 s: H.264 D.2.2, HEVC D.3.2.
public struct InitialRemovalDelay: Hashable, Sendable {
    /// `initial_cpb_removal_delay`, above 0.
    public var delay: UInt32
    /// H.264's `initial_cpb_removal_delay_offset`, HEVC's `initial_cpb_removal_offset`.
    public var offset: UInt32

    /// Makes a delay.
    public init(_ delay: UInt32, offset: UInt32 = 0) {
        self.delay = delay
        self.offset = offset
    }
}

extension SyntaxVisitor {
    /// Visits the delays and offsets of one kind of NAL units, alternating.
    ///
    /// - Parameters:
    ///   - names: The names of the delays and of the offsets.
    ///   - count: The number of schedules.
    ///   - bits: The coded length of each value.
    mutating func removalDelays(
        _ names: (delay: String, offset: String),
        _ delays: inout [InitialRemovalDelay],
        count: Int,
        bits: Int
    ) throws(BitstreamError) {
        try resize(names.delay, &delays, to: count, with: InitialRemovalDelay(0))
        for index in delays.indices {
            try u("\(names.delay)[\(index)]", bits: bits, &delays[index].delay)
            try u("\(names.offset)[\(index)]", bits: bits, &delays[index].offset)
        }
    }
}

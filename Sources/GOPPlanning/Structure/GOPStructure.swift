// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// How pictures are arranged and what they may refer to: what a ``GOPPlanner`` keeps to.
///
/// It knows nothing of a codec. A structure may hold any values; the planner refuses those that do not fit together.
public struct GOPStructure: Sendable, Hashable {
    /// Where a decoder can begin.
    public enum RandomAccess: Sendable, Hashable {
        /// Every key frame is an IDR picture: nothing refers across it, and everything shown before it is coded before
        /// it. `interval` is the number of pictures from one key frame to the next, 1 for key frames only; `nil` for no
        /// limit.
        case closed(interval: Int?)
        /// The first picture and forced key frames are IDR pictures; key frames that are due are intra pictures at which
        /// decoding can begin (recovery points). B-frames that are shown before one and coded after it may refer to
        /// what was coded before it; nothing that is shown after it does.
        case open(interval: Int?)
        /// After the first picture there are IDR pictures only where they are forced or no reference is left. Instead a
        /// wave of intra blocks goes over the picture in `period` pictures, one wave after the other. Every picture
        /// refers to one picture only, so that a wave leaves no old samples behind.
        case intraRefresh(period: Int)
    }

    /// Where a decoder can begin.
    public var randomAccess = RandomAccess.closed(interval: nil)
    /// The highest number of B-frames in a row, 0...16; 0 for none.
    public var consecutiveBFrames = 0
    /// How many levels of B-frames are references for others, 0...4; 0 for none. The levels are filled so that the tree
    /// is balanced, whatever the number of B-frames; those below the last level stand in a row.
    public var pyramidDepth = 0
    /// The highest number of entries in list 0, of P- and of B-frames, 1...16.
    public var list0Limit = 1
    /// The highest number of entries in list 1 of B-frames, 1...16.
    public var list1Limit = 1
    /// How many pictures the decoded picture buffer may hold, as the level or the driver allows, 1...16.
    public var pictureLimit = 16
    /// Temporal layers, 1...3. With B-frames the upper layers are B-frames, and each doubles the rate of those below it
    /// if there are ``bFrames(fillingLayers:)`` of them; else they are P-frames in the pattern 0 1 or 0 2 1 2.
    ///
    /// Pictures above layer 0 are never references. In H.264 every reference picture raises `frame_num`, so whoever
    /// drops a layer of references leaves gaps in it. Gaps are legal only if the sequence parameter set allows them;
    /// no VA-API parameter says so, and decoders do not agree on what to do with them. Without references in
    /// the upper layers there are no gaps, and the marking of references in the lower layers is the same whether upper
    /// layers arrive or not. The price is that in the pattern 0 2 1 2 the last picture refers to one that is three
    /// pictures away instead of one.
    public var temporalLayers = 1
    /// How many long-term references can be marked, 0...15; their indices are below that. The decoded picture buffer
    /// has room for them beside the others.
    public var longTermReferences = 0
    /// Whether every picture is planned as soon as it is added. There are no B-frames then.
    public var isLowLatency = false

    /// Makes the simplest structure: one IDR picture, then P-frames that refer to the picture before them.
    public init() {}

    /// Whether the values fit together.
    ///
    /// - Throws: `invalidArgument` with the value given and the values allowed.
    public func validate() throws(MediaError) {
        try Self.check("number of consecutive B-frames", consecutiveBFrames, in: 0...16)
        try Self.check("depth of the B-pyramid", pyramidDepth, in: 0...4)
        try Self.check("number of references in list 0", list0Limit, in: 1...16)
        try Self.check("number of references in list 1", list1Limit, in: 1...16)
        try Self.check("size of the decoded picture buffer", pictureLimit, in: 1...16)
        try Self.check("number of temporal layers", temporalLayers, in: 1...3)
        try Self.check("number of long-term references", longTermReferences, in: 0...15)
        switch randomAccess {
        case .closed(let interval?), .open(let interval?):
            try Self.check("key frame interval", interval, in: 1...Int(Int32.max))
        case .intraRefresh(let period):
            try Self.check("period of intra refresh", period, in: 1...Int(Int32.max))
        case .closed, .open:
            break
        }
        try validateCombination()
        guard minimumPictureCount <= pictureLimit else {
            throw MediaError(
                .invalidArgument,
                "decoded picture buffer is too small for the structure of the group",
                given: "\(pictureLimit)",
                allowed: "at least \(minimumPictureCount)"
            )
        }
    }

    private func validateCombination() throws(MediaError) {
        if isLowLatency { try refuseBFrames("low latency excludes B-frames, which delay pictures") }
        if temporalLayers > 1 && pyramidDepth > 0 {
            throw MediaError(
                .invalidArgument,
                "B-frames above the base layer cannot be references",
                given: "pyramid of depth \(pyramidDepth) with \(temporalLayers) temporal layers",
                allowed: "one of both"
            )
        }
        guard case .intraRefresh = randomAccess else { return }
        try refuseBFrames("intra refresh excludes B-frames, which refer across the wave")
        if temporalLayers > 1 {
            throw MediaError(
                .invalidArgument,
                "intra refresh needs every picture",
                given: "\(temporalLayers) temporal layers",
                allowed: "1"
            )
        }
    }

    private func refuseBFrames(_ message: String) throws(MediaError) {
        guard consecutiveBFrames > 0 else { return }
        throw MediaError(.invalidArgument, message, given: "\(consecutiveBFrames)", allowed: "0")
    }

    static func check(_ name: String, _ value: Int, in range: ClosedRange<Int>) throws(MediaError) {
        guard range.contains(value) else {
            throw MediaError(
                .invalidArgument,
                "\(name) is out of range",
                given: "\(value)",
                allowed: "\(range.lowerBound)...\(range.upperBound)"
            )
        }
    }
}

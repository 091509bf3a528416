// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The arrangement of pictures and their possible references, which a ``GOPPlanner`` observes.
///
/// It is independent of the codec. A structure may contain any values; the planner rejects inconsistent ones.
public struct GOPStructure: Sendable, Hashable {
    /// The points at which a decoder can start.
    public enum RandomAccess: Sendable, Hashable {
        /// Every key frame is an IDR picture: no picture refers across it, and all pictures shown before it are coded
        /// before it. `interval` is the number of pictures from one key frame to the next, 1 for key frames only; `nil`
        /// for no limit.
        case closed(interval: Int?)
        /// The first picture and forced key frames are IDR pictures; other key frames are intra pictures at which
        /// decoding can start (recovery points). B-frames that are shown before one and coded after it may refer to
        /// pictures that were coded before it; pictures that are shown after it may not.
        case open(interval: Int?)
        /// After the first picture, IDR pictures occur only if they are forced or no reference remains. Instead, a wave
        /// of intra blocks sweeps across the picture during `period` pictures, one wave after the other. Every picture
        /// refers to only one picture, so that no old samples remain after a wave.
        case intraRefresh(period: Int)
    }

    /// The points at which a decoder can start.
    public var randomAccess = RandomAccess.closed(interval: nil)
    /// The maximum number of B-frames in a row, 0...16; 0 for none.
    public var consecutiveBFrames = 0
    /// The number of levels of B-frames that are references for others, 0...4; 0 for none. The levels are filled so
    /// that the tree is balanced, whatever the number of B-frames; the B-frames below the last level are coded in
    /// presentation order.
    public var pyramidDepth = 0
    /// The maximum number of entries in list 0, of P- and B-frames, 1...16.
    public var list0Limit = 1
    /// The maximum number of entries in list 1 of B-frames, 1...16.
    public var list1Limit = 1
    /// The size of the decoded picture buffer in pictures, as the level or the driver allows, 1...16.
    public var pictureLimit = 16
    /// The number of temporal layers, 1...3. With B-frames, the upper layers consist of B-frames, and each doubles the
    /// rate of those below it if there are ``bFrames(fillingLayers:)`` of them; otherwise they are P-frames in the
    /// pattern 0 1 or 0 2 1 2.
    ///
    /// Pictures above layer 0 are never references. In H.264 every reference picture increments `frame_num`, so
    /// dropping a layer of references leaves gaps in it. Gaps are legal only if the sequence parameter set allows them;
    /// no VA-API parameter specifies this, and decoders handle gaps differently. Without references in the upper layers
    /// there are no gaps, and the marking of references in the lower layers does not depend on whether upper layers
    /// arrive. As a disadvantage, the last picture in the pattern 0 2 1 2 refers to one that is three pictures away
    /// instead of one.
    public var temporalLayers = 1
    /// The number of long-term references that can be marked, 0...15; their indices are below it. The decoded picture
    /// buffer has space for them besides the others.
    public var longTermReferences = 0
    /// Whether every picture is planned as soon as it is added. Such a structure has no B-frames.
    public var isLowLatency = false

    /// Makes the simplest structure: one IDR picture, then P-frames that refer to the previous picture.
    public init() {}

    /// Checks whether the values are consistent.
    ///
    /// - Throws: `invalidArgument` with the given value and the allowed values.
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
                "intra refresh does not support temporal layers",
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

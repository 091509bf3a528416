// SPDX-License-Identifier: GPL-2.0-or-later

/// Buffering period of H.264: clauses D.1.2 and D.2.2.
public struct H264BufferingPeriod: Hashable, Sendable {
    /// `seq_parameter_set_id`, 0...31.
    public var seqParameterSetId: UInt32 = 0
    /// The delays of each schedule of the HRD for all NAL units; none without that HRD.
    public var nal: [InitialRemovalDelay] = []
    /// The delays of each schedule of the HRD for VCL NAL units; none without that HRD.
    public var vcl: [InitialRemovalDelay] = []

    /// Makes a message without delays.
    public init() {}

    /// Serializes the message.
    ///
    /// - Parameter sps: The activated SPS; its HRDs define the number of delays and their coded length.
    /// - Throws: `BitstreamError` if they do not match.
    public func message(for sps: H264SequenceParameterSet) throws(BitstreamError) -> SEIMessage {
        try Coding(period: self, sps: sps).message(.bufferingPeriod)
    }

    /// Parses the payload of a message.
    public init(payload: [UInt8], for sps: H264SequenceParameterSet) throws(BitstreamError) {
        var coding = Coding(period: Self(), sps: sps)
        try coding.read(payload)
        self = coding.period
    }

    private struct Coding: SEIPayload {
        var period: H264BufferingPeriod
        let sps: H264SequenceParameterSet

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            try visitor.ue("seq_parameter_set_id", &period.seqParameterSetId, in: 0...31)
            try Self.visit(&period.nal, sps.vui?.nalHRD, &visitor)
            try Self.visit(&period.vcl, sps.vui?.vclHRD, &visitor)
        }

        private static func visit(
            _ delays: inout [InitialRemovalDelay],
            _ decoder: H264ReferenceDecoder?,
            _ visitor: inout some SyntaxVisitor
        ) throws(BitstreamError) {
            try visitor.removalDelays(
                ("initial_cpb_removal_delay", "initial_cpb_removal_delay_offset"),
                &delays,
                count: decoder?.schedules.count ?? 0,
                bits: Int(decoder?.initialCpbRemovalDelayLengthMinus1 ?? 0) + 1
            )
        }
    }
}

/// Picture timing of H.264: clauses D.1.3 and D.2.3. Clock timestamps are neither written nor preserved.
public struct H264PictureTiming: Hashable, Sendable {
    /// `cpb_removal_delay` in ticks since the picture with the last buffering period; coded with an HRD only.
    public var cpbRemovalDelay: UInt32 = 0
    /// `dpb_output_delay` in ticks from the removal to the output; coded with an HRD only.
    public var dpbOutputDelay: UInt32 = 0
    /// `pic_struct`, 0...8: 0 for a frame; table D-1. Coded if the VUI requires it.
    public var picStruct: UInt32 = 0

    /// Makes the timing of a frame without delay.
    public init() {}

    /// Serializes the message.
    ///
    /// - Parameter sps: The active SPS; its VUI defines which elements are coded.
    /// - Throws: `BitstreamError` if a delay does not fit.
    public func message(for sps: H264SequenceParameterSet) throws(BitstreamError) -> SEIMessage {
        try Coding(timing: self, sps: sps).message(.pictureTiming)
    }

    /// Parses the payload of a message.
    public init(payload: [UInt8], for sps: H264SequenceParameterSet) throws(BitstreamError) {
        var coding = Coding(timing: Self(), sps: sps)
        try coding.read(payload)
        self = coding.timing
    }

    private struct Coding: SEIPayload {
        var timing: H264PictureTiming
        let sps: H264SequenceParameterSet

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            if let decoder = sps.vui?.nalHRD ?? sps.vui?.vclHRD {
                let removalBits = Int(decoder.cpbRemovalDelayLengthMinus1) + 1
                try visitor.u("cpb_removal_delay", bits: removalBits, &timing.cpbRemovalDelay)
                let outputBits = Int(decoder.dpbOutputDelayLengthMinus1) + 1
                try visitor.u("dpb_output_delay", bits: outputBits, &timing.dpbOutputDelay)
            } else {
                try visitor.infer("cpb_removal_delay", &timing.cpbRemovalDelay, 0)
                try visitor.infer("dpb_output_delay", &timing.dpbOutputDelay, 0)
            }
            guard sps.vui?.picStructPresentFlag == true else {
                return try visitor.infer("pic_struct", &timing.picStruct, 0)
            }
            try visitor.u("pic_struct", bits: 4, &timing.picStruct, in: 0...8)
            // NumClockTS, table D-1.
            for index in 0..<[1, 1, 1, 2, 2, 3, 3, 2, 3][Int(timing.picStruct)] {
                var hasTimestamp = false
                try visitor.flag("clock_timestamp_flag[\(index)]", &hasTimestamp)
                if hasTimestamp { return }
            }
        }
    }
}

/// Recovery point of H.264: clauses D.1.8 and D.2.8. Decoding can start here, with correct pictures from a later one
/// on.
public struct H264RecoveryPoint: Hashable, Sendable, SEIPayload {
    /// `recovery_frame_cnt`: the distance in `frame_num` to the first correct picture in output order, 0...65535.
    public var recoveryFrameCnt: UInt32
    /// `exact_match_flag`: whether pictures from there on exactly match those of decoding from the start.
    public var exactMatchFlag: Bool
    /// `broken_link_flag`: whether earlier pictures may be wrong because the stream was cut.
    public var brokenLinkFlag: Bool
    /// `changing_slice_group_idc`, 0...2.
    public var changingSliceGroupIdc: UInt32 = 0

    /// Makes a recovery point.
    public init(recoveryFrameCnt: UInt32 = 0, exactMatchFlag: Bool = true, brokenLinkFlag: Bool = false) {
        self.recoveryFrameCnt = recoveryFrameCnt
        self.exactMatchFlag = exactMatchFlag
        self.brokenLinkFlag = brokenLinkFlag
    }

    /// Parses the payload of a message.
    public init(payload: [UInt8]) throws(BitstreamError) {
        self.init()
        try read(payload)
    }

    /// Serializes the message.
    ///
    /// - Throws: `BitstreamError` if a number is out of range.
    public func message() throws(BitstreamError) -> SEIMessage { try message(.recoveryPoint) }

    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.ue("recovery_frame_cnt", &recoveryFrameCnt, in: 0...65535)
        try visitor.flag("exact_match_flag", &exactMatchFlag)
        try visitor.flag("broken_link_flag", &brokenLinkFlag)
        try visitor.u("changing_slice_group_idc", bits: 2, &changingSliceGroupIdc, in: 0...2)
    }
}

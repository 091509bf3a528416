// SPDX-License-Identifier: GPL-2.0-or-later

/// Buffering period of HEVC: clauses D.2.2 and D.3.2, for streams without decoding units and without parameters for
/// skipped leading pictures.
public struct HEVCBufferingPeriod: Hashable, Sendable {
    /// `bp_seq_parameter_set_id`, 0...15.
    public var bpSeqParameterSetId: UInt32 = 0
    /// `concatenation_flag`.
    public var concatenationFlag = false
    /// `au_cpb_removal_delay_delta_minus1`, which is used where streams are concatenated.
    public var auCpbRemovalDelayDeltaMinus1: UInt32 = 0
    /// The delays of each schedule of the HRD for all NAL units; none without that HRD.
    public var nal: [InitialRemovalDelay] = []
    /// The delays of each schedule of the HRD for VCL NAL units; none without that HRD.
    public var vcl: [InitialRemovalDelay] = []

    /// Makes a message without delays.
    public init() {}

    /// Serializes the message.
    ///
    /// - Parameter sps: The activated SPS; its HRD defines the number of delays and their coded length.
    /// - Throws: `BitstreamError` if they do not match, or if the HRD has decoding units.
    public func message(for sps: HEVCSequenceParameterSet) throws(BitstreamError) -> SEIMessage {
        try Coding(period: self, sps: sps).message(.bufferingPeriod)
    }

    /// Parses the payload of a message.
    public init(payload: [UInt8], for sps: HEVCSequenceParameterSet) throws(BitstreamError) {
        var coding = Coding(period: Self(), sps: sps)
        try coding.read(payload)
        self = coding.period
    }

    private struct Coding: SEIPayload {
        var period: HEVCBufferingPeriod
        let sps: HEVCSequenceParameterSet

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            let common = sps.vui?.hrd?.common ?? HEVCReferenceDecoder.Common()
            try visitor.ue("bp_seq_parameter_set_id", &period.bpSeqParameterSetId, in: 0...15)
            try visitor.check("sub_pic_hrd_params_present_flag", common.subPicture == nil ? 0 : 1, in: 0...0)
            try visitor.fixed("irap_cpb_params_present_flag", bits: 1, 0)
            try visitor.flag("concatenation_flag", &period.concatenationFlag)
            let deltaBits = Int(common.auCpbRemovalDelayLengthMinus1) + 1
            let deltaName = "au_cpb_removal_delay_delta_minus1"
            try visitor.u(deltaName, bits: deltaBits, &period.auCpbRemovalDelayDeltaMinus1)
            let schedules = sps.vui?.hrd?.subLayers.last
            let bits = Int(common.initialCpbRemovalDelayLengthMinus1) + 1
            try visitor.removalDelays(
                ("nal_initial_cpb_removal_delay", "nal_initial_cpb_removal_offset"),
                &period.nal,
                count: schedules?.nalSchedules.count ?? 0,
                bits: bits
            )
            try visitor.removalDelays(
                ("vcl_initial_cpb_removal_delay", "vcl_initial_cpb_removal_offset"),
                &period.vcl,
                count: schedules?.vclSchedules.count ?? 0,
                bits: bits
            )
        }
    }
}

/// Picture timing of HEVC: clauses D.2.3 and D.3.3, for streams without decoding units.
public struct HEVCPictureTiming: Hashable, Sendable {
    /// `pic_struct`, 0...12: 0 for a frame; table D.2. Coded if the VUI requires it.
    public var picStruct: UInt32 = 0
    /// `source_scan_type`, 0...2: 1 for progressive. Coded if the VUI requires it.
    public var sourceScanType: UInt32 = 0
    /// `duplicate_flag`. Coded if the VUI requires it.
    public var duplicateFlag = false
    /// `au_cpb_removal_delay_minus1` in ticks since the picture with the last buffering period; coded with an HRD only.
    public var auCpbRemovalDelayMinus1: UInt32 = 0
    /// `pic_dpb_output_delay` in ticks from the removal to the output; coded with an HRD only.
    public var picDpbOutputDelay: UInt32 = 0

    /// Makes the timing of a frame without delay.
    public init() {}

    /// Serializes the message.
    ///
    /// - Parameter sps: The active SPS; its VUI defines which elements are coded.
    /// - Throws: `BitstreamError` if a delay does not fit, or the HRD has decoding units.
    public func message(for sps: HEVCSequenceParameterSet) throws(BitstreamError) -> SEIMessage {
        try Coding(timing: self, sps: sps).message(.pictureTiming)
    }

    /// Parses the payload of a message.
    public init(payload: [UInt8], for sps: HEVCSequenceParameterSet) throws(BitstreamError) {
        var coding = Coding(timing: Self(), sps: sps)
        try coding.read(payload)
        self = coding.timing
    }

    private struct Coding: SEIPayload {
        var timing: HEVCPictureTiming
        let sps: HEVCSequenceParameterSet

        mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
            if sps.vui?.frameFieldInfoPresentFlag == true {
                try visitor.u("pic_struct", bits: 4, &timing.picStruct, in: 0...12)
                try visitor.u("source_scan_type", bits: 2, &timing.sourceScanType, in: 0...2)
                try visitor.flag("duplicate_flag", &timing.duplicateFlag)
            } else {
                try visitor.infer("pic_struct", &timing.picStruct, 0)
                try visitor.infer("source_scan_type", &timing.sourceScanType, 0)
                try visitor.infer("duplicate_flag", &timing.duplicateFlag, false)
            }
            guard let common = sps.vui?.hrd?.common,
                common.nalHrdParametersPresentFlag || common.vclHrdParametersPresentFlag
            else {
                try visitor.infer("au_cpb_removal_delay_minus1", &timing.auCpbRemovalDelayMinus1, 0)
                return try visitor.infer("pic_dpb_output_delay", &timing.picDpbOutputDelay, 0)
            }
            try visitor.check("sub_pic_hrd_params_present_flag", common.subPicture == nil ? 0 : 1, in: 0...0)
            let removalBits = Int(common.auCpbRemovalDelayLengthMinus1) + 1
            try visitor.u("au_cpb_removal_delay_minus1", bits: removalBits, &timing.auCpbRemovalDelayMinus1)
            let outputBits = Int(common.dpbOutputDelayLengthMinus1) + 1
            try visitor.u("pic_dpb_output_delay", bits: outputBits, &timing.picDpbOutputDelay)
        }
    }
}

/// Recovery point of HEVC: clauses D.2.8 and D.3.8. Decoding can start here, with correct pictures from a later one on.
public struct HEVCRecoveryPoint: Hashable, Sendable, SEIPayload {
    /// `recovery_poc_cnt`: the distance in picture order count to the first correct picture, -32768...32767.
    public var recoveryPocCnt: Int32
    /// `exact_match_flag`: whether pictures from there on exactly match those of decoding from the start.
    public var exactMatchFlag: Bool
    /// `broken_link_flag`: whether earlier pictures may be wrong because the stream was cut.
    public var brokenLinkFlag: Bool

    /// Makes a recovery point.
    public init(recoveryPocCnt: Int32 = 0, exactMatchFlag: Bool = true, brokenLinkFlag: Bool = false) {
        self.recoveryPocCnt = recoveryPocCnt
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
        try visitor.se("recovery_poc_cnt", &recoveryPocCnt, in: -32768...32767)
        try visitor.flag("exact_match_flag", &exactMatchFlag)
        try visitor.flag("broken_link_flag", &brokenLinkFlag)
    }
}

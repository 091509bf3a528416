// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes

/// The NAL units and messages of an HEVC stream besides its slices.
extension HEVCStream {
    var tellsTiming: Bool { sequence.vui?.hrd != nil }

    var decoderSchedule: DecoderSchedule? {
        guard let timing = sequence.vui?.timing, let common = sequence.vui?.hrd?.common,
            let schedule = sequence.vui?.hrd?.subLayers.last?.nalSchedules.first, schedule.cbrFlag
        else { return nil }
        // HEVC E.3.3
        return DecoderSchedule(
            bitRate: Int(schedule.bitRateValueMinus1 + 1) << Int(6 + common.bitRateScale),
            bufferSize: Int(schedule.cpbSizeValueMinus1 + 1) << Int(4 + common.cpbSizeScale),
            tick: (Int(timing.numUnitsInTick), Int(timing.timeScale)),
            ticksOfPicture: 1
        )
    }

    /// HEVC 7.3.2.5: `pic_type` lists the slice types that may be present, table 7-2. The layer is that of the picture
    /// (7.4.2.2).
    func delimiter(_ picture: PlannedPicture) -> [UInt8] {
        let type: UInt8 =
            switch picture.kind {
            case .idr, .recoveryPoint: 0
            case .p: tools.generalizedList1Limit > 0 ? 2 : 1
            case .b: 2
            }
        let unit = UInt8(HEVCNALUnitHeader.UnitType.accessUnitDelimiter.rawValue << 1)
        return [unit, UInt8(clamping: picture.temporalLayer + 1), type << 5 | 0x10]
    }

    /// HEVC D.3.2: the sum of delay and offset is constant in a coded video sequence, in which CRA pictures begin
    /// periods with other delays.
    func bufferingPeriod(initialDelay: UInt32) throws(BitstreamError) -> SEIMessage {
        var period = HEVCBufferingPeriod()
        period.bpSeqParameterSetId = sequence.spsSeqParameterSetId
        let longest = decoderSchedule?.longestDelay ?? initialDelay
        period.nal = [InitialRemovalDelay(initialDelay, offset: longest - min(initialDelay, longest))]
        return try period.message(for: sequence)
    }

    /// HEVC D.3.3. The very first picture has no earlier buffering period to count from.
    func pictureTiming(removal: Int64, output: Int64) throws(BitstreamError) -> SEIMessage {
        var timing = HEVCPictureTiming()
        timing.auCpbRemovalDelayMinus1 = UInt32(clamping: max(removal, 1) - 1)
        timing.picDpbOutputDelay = UInt32(clamping: output)
        return try timing.message(for: sequence)
    }

    /// Recovery points are pictures of a separate type (CRA).
    static func isAccessPoint(_ kind: PlannedPicture.Kind) -> Bool { kind == .idr || kind == .recoveryPoint }

    /// HEVC D.3.2: buffering periods begin with IRAP pictures, and intra refresh waves contain none.
    static var recoveryPointsBeginPeriods: Bool { false }

    /// HEVC D.3.8: `recovery_poc_cnt` is below half of `MaxPicOrderCntLsb`.
    static var longestRefresh: Int { 1 << (orderCountBits - 1) }

    /// HEVC D.3.8.
    func recoveryPoint(after pictures: Int, isExact: Bool) throws(BitstreamError) -> SEIMessage {
        try HEVCRecoveryPoint(recoveryPocCnt: Int32(clamping: pictures), exactMatchFlag: isExact).message()
    }

    func completed(_ set: [UInt8]) throws(BitstreamError) -> [UInt8] {
        let header = try HEVCNALUnitHeader(nalUnit: set)
        guard header.nalUnitType == .sequenceParameterSet else { return set }
        var written = try HEVCSequenceParameterSet(nalUnit: set)
        var usability = sequence.vui
        // The rates are those that the driver uses.
        usability?.hrd = written.vui?.hrd
        if let vui = written.vui {
            usability?.frameFieldInfoPresentFlag = vui.frameFieldInfoPresentFlag
            if usability?.hrd != nil { usability?.timing = vui.timing }
        }
        written.vui = usability
        try written.setDisplaySize(PictureSize(width: configuration.width, height: configuration.height))
        return try written.nalUnit()
    }
}

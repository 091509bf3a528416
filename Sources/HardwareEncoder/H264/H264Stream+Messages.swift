// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes

/// The NAL units and messages of an H.264 stream besides its slices.
extension H264Stream {
    var tellsTiming: Bool { sequence.vui?.nalHRD != nil }

    var decoderSchedule: DecoderSchedule? { DecoderSchedule(sequence, ticksOfPicture: Int(Self.ticksOfPicture)) }

    /// The ticks per frame: one per field (H.264 E.2.1).
    private static let ticksOfPicture: Int64 = 2

    /// H.264 D.2.8: `recovery_frame_cnt` is below `MaxFrameNum`.
    static var longestRefresh: Int { 1 << frameNumberBits }

    /// H.264 7.3.2.4: `primary_pic_type` lists the slice types that may be present, table 7-5.
    func delimiter(_ picture: PlannedPicture) -> [UInt8] {
        let type: UInt8 =
            switch picture.kind {
            case .idr, .recoveryPoint: 0
            case .p: 1
            case .b: 2
            }
        return [UInt8(H264NALUnitHeader.UnitType.accessUnitDelimiter.rawValue), type << 5 | 0x10]
    }

    /// H.264 D.2.2.
    func bufferingPeriod(initialDelay: UInt32) throws(BitstreamError) -> SEIMessage {
        var period = H264BufferingPeriod()
        period.seqParameterSetId = sequence.seqParameterSetId
        period.nal = [InitialRemovalDelay(initialDelay)]
        return try period.message(for: sequence)
    }

    /// H.264 D.2.3.
    func pictureTiming(removal: Int64, output: Int64) throws(BitstreamError) -> SEIMessage {
        var timing = H264PictureTiming()
        timing.cpbRemovalDelay = UInt32(clamping: removal * Self.ticksOfPicture)
        timing.dpbOutputDelay = UInt32(clamping: output * Self.ticksOfPicture)
        return try timing.message(for: sequence)
    }

    static func isAccessPoint(_ kind: PlannedPicture.Kind) -> Bool { kind == .idr }

    /// H.264 D.2.2: for decoders that start there.
    static var recoveryPointsBeginPeriods: Bool { true }

    /// H.264 D.2.8.
    func recoveryPoint(after pictures: Int, isExact: Bool) throws(BitstreamError) -> SEIMessage {
        try H264RecoveryPoint(recoveryFrameCnt: UInt32(clamping: pictures), exactMatchFlag: isExact).message()
    }

    func completed(_ set: [UInt8]) throws(BitstreamError) -> [UInt8] {
        let header = try H264NALUnitHeader(nalUnit: set)
        guard header.nalUnitType == .sequenceParameterSet else { return set }
        var written = try H264SequenceParameterSet(nalUnit: set)
        var usability = sequence.vui
        // The rates are those that the driver uses.
        usability?.nalHRD = written.vui?.nalHRD
        usability?.vclHRD = written.vui?.vclHRD
        if let vui = written.vui {
            usability?.lowDelayHrdFlag = vui.lowDelayHrdFlag
            usability?.picStructPresentFlag = vui.picStructPresentFlag
        }
        // A driver may keep more references than requested; the buffer must hold them (H.264 E.2.1).
        if let pictures = usability?.bitstreamRestriction?.maxDecFrameBuffering {
            usability?.bitstreamRestriction?.maxDecFrameBuffering = max(pictures, written.maxNumRefFrames)
        }
        written.vui = usability
        try written.setDisplaySize(PictureSize(width: configuration.width, height: configuration.height))
        return try written.nalUnit()
    }
}

extension DecoderSchedule {
    /// Creates the schedule from a sequence parameter set; `nil` if it signals no constant rate, or no timing.
    init?(_ sequence: H264SequenceParameterSet, ticksOfPicture: Int = 2) {
        guard let decoder = sequence.vui?.nalHRD, let timing = sequence.vui?.timing,
            decoder.schedules.first?.cbrFlag == true,
            let bitRate = decoder.bitRate(ofSchedule: 0), let size = decoder.cpbSize(ofSchedule: 0)
        else { return nil }
        self.init(
            bitRate: bitRate,
            bufferSize: size,
            tick: (Int(timing.numUnitsInTick), Int(timing.timeScale)),
            ticksOfPicture: ticksOfPicture
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes

/// The NAL units that stand before the slices of a picture and are no parameter sets: delimiter and SEI.
///
/// Where the driver takes such units it is sent them, so that its rate control counts them. Where it does not they are
/// put into the access unit afterwards, except those about timing: the rates of its stream are not told then.
struct H264Messages: Sendable {
    private let stream: H264Stream
    private let reorderDepth: Int
    private let refreshPeriod: Int?
    /// `initial_cpb_removal_delay`, where the stream tells its rates.
    private let initialDelay: UInt32
    /// The number in coding order of the last picture with a buffering period.
    private var periodStart: Int64?

    init(_ setup: H264Setup) {
        stream = setup.stream
        reorderDepth = setup.device.structure.reorderDepth
        refreshPeriod = setup.device.intraRefresh?.period
        initialDelay = setup.device.rate.initialDelay
    }

    /// The units of the next picture in coding order.
    ///
    /// - Throws: `frameFailed` if a number has no place in its field.
    mutating func units(
        _ picture: PlannedPicture,
        _ attachments: PixelAttachments
    ) throws(MediaError) -> PictureUnits {
        do throws(BitstreamError) {
            // H.264 7.4.1.2.3: a buffering period comes first.
            var messages = try timing(picture)
            if let point = recoveryPoint(picture) { messages.append(try point.message()) }
            if picture.kind == .idr { messages += display(attachments) }
            messages += CaptionMessage.messages(attachments.captions)
            var units = PictureUnits()
            if stream.configuration.accessUnitDelimiters { units.delimiter = Self.delimiter(picture.kind) }
            if !messages.isEmpty { units.messages = [SEIMessage.nalUnit(messages, codec: .h264)] }
            return units
        } catch {
            throw MediaError(.frameFailed, "a message of the picture cannot be written: \(error)")
        }
    }

    /// H.264 7.3.2.4: `primary_pic_type` says of which types slices are at most, table 7-5.
    private static func delimiter(_ kind: PlannedPicture.Kind) -> [UInt8] {
        let type: UInt8 =
            switch kind {
            case .idr, .recoveryPoint: 0
            case .p: 1
            case .b: 2
            }
        return [UInt8(H264NALUnitHeader.UnitType.accessUnitDelimiter.rawValue), type << 5 | 0x10]
    }

    // MARK: - Timing

    /// Ticks of a frame: one for each field (H.264 E.2.1).
    private static let ticks: Int64 = 2

    /// Buffering period and picture timing (H.264 D.2.2, D.2.3 and C.1.2).
    ///
    /// Pictures leave the coded picture buffer at the frame rate, in coding order, and are shown as many frames later
    /// as pictures are reordered at most. A buffering period begins with each IDR picture.
    private mutating func timing(_ picture: PlannedPicture) throws(BitstreamError) -> [SEIMessage] {
        guard stream.sequence.vui?.nalHRD != nil else { return [] }
        var messages: [SEIMessage] = []
        var timing = H264PictureTiming()
        // Also that of a picture with a buffering period counts from the one before it.
        let removal = picture.codingOrder - (periodStart ?? picture.codingOrder)
        timing.cpbRemovalDelay = UInt32(clamping: removal * Self.ticks)
        if picture.kind == .idr {
            periodStart = picture.codingOrder
            var period = H264BufferingPeriod()
            period.seqParameterSetId = stream.sequence.seqParameterSetId
            period.nal = [H264BufferingPeriod.InitialDelay(removalDelay: initialDelay)]
            messages.append(try period.message(for: stream.sequence))
        }
        let coded = picture.codingOrder - (periodStart ?? picture.codingOrder)
        let shown = picture.displayOrder + Int64(reorderDepth)
        timing.dpbOutputDelay = UInt32(clamping: (shown - coded) * Self.ticks)
        messages.append(try timing.message(for: stream.sequence))
        return messages
    }

    // MARK: - Random access

    private func recoveryPoint(_ picture: PlannedPicture) -> H264RecoveryPoint? {
        // What follows a recovery point of an open group in order of output refers to nothing before it.
        if picture.kind == .recoveryPoint { return H264RecoveryPoint() }
        // A wave is through with its last picture. Drivers may predict what is renewed from old samples beside it.
        guard let refreshPeriod, picture.refreshPosition == 0 else { return nil }
        return H264RecoveryPoint(recoveryFrameCnt: UInt32(clamping: refreshPeriod - 1), exactMatchFlag: false)
    }

    // MARK: - Display

    private func display(_ attachments: PixelAttachments) -> [SEIMessage] {
        var messages: [SEIMessage] = []
        if let display = stream.configuration.masteringDisplay ?? attachments.masteringDisplay {
            messages.append(SEIMessage(display))
        }
        if let light = stream.configuration.contentLight ?? attachments.contentLight {
            messages.append(SEIMessage(light))
        }
        return messages
    }
}

extension SEIMessage {
    /// Mastering display colour volume (H.264 D.1.29): the primaries in the order green, blue, red.
    fileprivate init(_ display: MasteringDisplay) {
        let points = [display.green, display.blue, display.red, display.whitePoint]
        let payload =
            points.flatMap { $0.x.bigEndianBytes + $0.y.bigEndianBytes }
            + display.maximumLuminance.bigEndianBytes + display.minimumLuminance.bigEndianBytes
        self.init(type: .masteringDisplay, payload: payload)
    }

    /// Content light level information (H.264 D.1.31).
    fileprivate init(_ light: ContentLightLevel) {
        let payload =
            light.maximumContentLightLevel.bigEndianBytes + light.maximumFrameAverageLightLevel.bigEndianBytes
        self.init(type: .contentLightLevel, payload: payload)
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

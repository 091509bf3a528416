// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes

/// The NAL units before the slices of a picture that are not parameter sets: delimiter and SEI.
///
/// A driver that accepts such units receives them, so that its rate control counts them. Otherwise, they are inserted
/// into the access unit afterwards, except those about timing: the stream then does not signal its rates.
struct PictureMessages<Stream: CodedStream>: Sendable {
    private let stream: Stream
    private let reorderDepth: Int
    private let refreshPeriod: Int?
    /// The `initial_cpb_removal_delay` of the first buffering period, if the stream signals its rates. Later buffering
    /// periods use it until the sizes of the previous pictures are known, see ``withInitialDelay(_:in:of:)``.
    private let initialDelay: UInt32
    /// The coding-order number of the last picture with a buffering period.
    private var periodStart: Int64?
    /// The coding-order number of the last IDR picture, from which positions in output order are counted.
    private var sequenceStart: Int64 = 0

    init(_ setup: EncoderSetup<Stream>) {
        stream = setup.stream
        reorderDepth = setup.device.structure.reorderDepth
        refreshPeriod = setup.device.intraRefresh?.period
        initialDelay = setup.device.rate.initialDelay
    }

    /// Returns the units of the next picture in coding order.
    ///
    /// - Throws: `frameFailed` if a number does not fit its field.
    mutating func units(
        _ picture: PlannedPicture,
        _ attachments: PixelAttachments
    ) throws(MediaError) -> PictureUnits {
        do throws(BitstreamError) {
            // H.264 7.4.1.2.3, HEVC 7.4.2.4.4: a buffering period comes first.
            let point = try recoveryPoint(picture)
            let isPointInTime = Stream.isAccessPoint(picture.kind) || point != nil && Stream.recoveryPointsBeginPeriods
            var messages = try timing(picture, beginsPeriod: isPointInTime)
            if let point { messages.append(point) }
            if Stream.isAccessPoint(picture.kind) { messages += display(attachments) }
            messages += CaptionMessage.messages(attachments.captions)
            var units = PictureUnits()
            units.beginsBufferingPeriod = stream.tellsTiming && isPointInTime
            if stream.configuration.accessUnitDelimiters { units.delimiter = stream.delimiter(picture) }
            if !messages.isEmpty {
                let layer = UInt8(clamping: picture.temporalLayer)
                units.messages = [SEIMessage.nalUnit(messages, codec: Stream.codec, temporalId: layer)]
            }
            return units
        } catch {
            throw MediaError(.frameFailed, "a message of the picture cannot be written: \(error)")
        }
    }

    // MARK: - Timing

    /// Returns the buffering period and picture timing (H.264 D.2.2, D.2.3 and C.1.2; HEVC D.3.2, D.3.3 and C.2.3).
    ///
    /// Pictures leave the coded picture buffer at the frame rate, in coding order. The output is delayed by the reorder
    /// depth, in frames.
    private mutating func timing(
        _ picture: PlannedPicture,
        beginsPeriod: Bool
    ) throws(BitstreamError) -> [SEIMessage] {
        guard stream.tellsTiming else { return [] }
        var messages: [SEIMessage] = []
        // For a picture with a buffering period, the delay also counts from the previous buffering period.
        let removal = picture.codingOrder - (periodStart ?? picture.codingOrder)
        if beginsPeriod {
            periodStart = picture.codingOrder
            messages.append(try stream.bufferingPeriod(initialDelay: initialDelay))
        }
        if picture.kind == .idr { sequenceStart = picture.codingOrder }
        let coded = picture.codingOrder - sequenceStart
        let shown = picture.displayOrder + Int64(reorderDepth)
        messages.append(try stream.pictureTiming(removal: removal, output: shown - coded))
        return messages
    }

    /// Returns a picture's units with another `initial_cpb_removal_delay` in the buffering period, if they begin one.
    ///
    /// - Throws: `frameFailed` if the delay does not fit its field.
    static func withInitialDelay(
        _ delay: UInt32,
        in units: PictureUnits,
        of stream: Stream
    ) throws(MediaError) -> PictureUnits {
        var result = units
        do throws(BitstreamError) {
            for (index, unit) in units.messages.enumerated() {
                var list = try SEIMessage.messages(in: unit, codec: Stream.codec)
                guard list.first?.type == .bufferingPeriod else { continue }
                list[0] = try stream.bufferingPeriod(initialDelay: delay)
                result.messages[index] = SEIMessage.nalUnit(list, codec: Stream.codec)
            }
        } catch {
            throw MediaError(.frameFailed, "the buffering period cannot be written: \(error)")
        }
        return result
    }

    // MARK: - Random access

    private func recoveryPoint(_ picture: PlannedPicture) throws(BitstreamError) -> SEIMessage? {
        // Pictures after a recovery point of an open group in output order do not refer to anything before it.
        if picture.kind == .recoveryPoint {
            return Stream.isAccessPoint(picture.kind) ? nil : try stream.recoveryPoint(after: 0, isExact: true)
        }
        // A wave is complete with its last picture. Drivers may predict refreshed blocks from old samples next to them.
        guard let refreshPeriod, picture.refreshPosition == 0 else { return nil }
        return try stream.recoveryPoint(after: refreshPeriod - 1, isExact: false)
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
    /// Creates a mastering display colour volume (H.264 D.1.29, HEVC D.2.28) with the primaries in the order green,
    /// blue, red.
    fileprivate init(_ display: MasteringDisplay) {
        let points = [display.green, display.blue, display.red, display.whitePoint]
        let payload =
            points.flatMap { $0.x.bigEndianBytes + $0.y.bigEndianBytes }
            + display.maximumLuminance.bigEndianBytes + display.minimumLuminance.bigEndianBytes
        self.init(type: .masteringDisplay, payload: payload)
    }

    /// Creates content light level information (H.264 D.1.31, HEVC D.2.35).
    fileprivate init(_ light: ContentLightLevel) {
        let payload =
            light.maximumContentLightLevel.bigEndianBytes + light.maximumFrameAverageLightLevel.bigEndianBytes
        self.init(type: .contentLightLevel, payload: payload)
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import GOPPlanning
internal import MediaTypes

/// The NAL units that stand before the slices of a picture and are no parameter sets: delimiter and SEI.
///
/// Where the driver takes such units it is sent them, so that its rate control counts them. Where it does not they are
/// put into the access unit afterwards, except those about timing: the rates of its stream are not told then.
struct PictureMessages<Stream: CodedStream>: Sendable {
    private let stream: Stream
    private let reorderDepth: Int
    private let refreshPeriod: Int?
    /// `initial_cpb_removal_delay` of the first buffering period, where the stream tells its rates. Later ones have it as
    /// long as the sizes of the pictures before are not known: ``withInitialDelay(_:in:of:)``.
    private let initialDelay: UInt32
    /// The number in coding order of the last picture with a buffering period.
    private var periodStart: Int64?
    /// That of the last IDR picture, from which places in order of output are counted.
    private var sequenceStart: Int64 = 0

    init(_ setup: EncoderSetup<Stream>) {
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

    /// Buffering period and picture timing (H.264 D.2.2, D.2.3 and C.1.2; HEVC D.3.2, D.3.3 and C.2.3).
    ///
    /// Pictures leave the coded picture buffer at the frame rate, in coding order, and are shown as many frames later
    /// as pictures are reordered at most.
    private mutating func timing(
        _ picture: PlannedPicture,
        beginsPeriod: Bool
    ) throws(BitstreamError) -> [SEIMessage] {
        guard stream.tellsTiming else { return [] }
        var messages: [SEIMessage] = []
        // Also that of a picture with a buffering period counts from the one before it.
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

    /// A picture's units with another `initial_cpb_removal_delay` in the buffering period, if they begin one.
    ///
    /// - Throws: `frameFailed` if the delay has no place in its field.
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
        // What follows a recovery point of an open group in order of output refers to nothing before it.
        if picture.kind == .recoveryPoint {
            return Stream.isAccessPoint(picture.kind) ? nil : try stream.recoveryPoint(after: 0, isExact: true)
        }
        // A wave is through with its last picture. Drivers may predict what is renewed from old samples beside it.
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
    /// Mastering display colour volume (H.264 D.1.29, HEVC D.2.28): the primaries in the order green, blue, red.
    fileprivate init(_ display: MasteringDisplay) {
        let points = [display.green, display.blue, display.red, display.whitePoint]
        let payload =
            points.flatMap { $0.x.bigEndianBytes + $0.y.bigEndianBytes }
            + display.maximumLuminance.bigEndianBytes + display.minimumLuminance.bigEndianBytes
        self.init(type: .masteringDisplay, payload: payload)
    }

    /// Content light level information (H.264 D.1.31, HEVC D.2.35).
    fileprivate init(_ light: ContentLightLevel) {
        let payload =
            light.maximumContentLightLevel.bigEndianBytes + light.maximumFrameAverageLightLevel.bigEndianBytes
        self.init(type: .contentLightLevel, payload: payload)
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import MediaTypes
internal import VAAPI

/// The codec-independent parameters of VA-API (`VAEncMiscParameterBuffer`): rate control, decoder buffer, frame rate,
/// quality level, size limit, regions of interest, intra refresh. Each is only sent if the setup contains it, which
/// requires that the driver lists it.
///
/// Parameters for all pictures are sent with the first picture and with every IDR picture, where drivers may start
/// anew. Those about rates are sent again with the next picture after a change. All others belong to one picture.
struct MiscellaneousParameters: Sendable {
    /// The parameters of one picture.
    struct Picture: Sendable {
        /// Whether it is an IDR picture.
        var isIDR: Bool
        /// The regions with another quantizer; where they overlap, the first one applies. Regions beyond the driver's
        /// limit, empty regions and regions outside the picture are dropped.
        var regions: [RegionOfInterest] = []
        /// The position in the intra refresh wave; `nil` for none.
        var refreshPosition: Int?
    }

    private let device: DeviceSetup
    private let width: Int
    private let height: Int
    private var rate: RatePlan
    private var frameRate: Rational
    /// Whether rate and frame rate must be sent even without an IDR picture.
    private var isRateChanged = true

    /// - Parameter configuration: The configuration of the setup.
    init(_ device: DeviceSetup, _ configuration: EncoderConfiguration) {
        self.device = device
        (width, height) = (configuration.width, configuration.height)
        rate = device.rate
        frameRate = configuration.frameRate
    }

    /// Changes rate and frame rate for the following pictures. The rate control mode belongs to the config and is
    /// unchanged.
    mutating func change(_ plan: RatePlan, frameRate: Rational) {
        var plan = plan
        plan.mode = rate.mode
        guard plan != rate || frameRate != self.frameRate else { return }
        (rate, self.frameRate, isRateChanged) = (plan, frameRate, true)
    }

    /// Appends the parameters for the next picture in coding order. They must follow the picture parameters: iHD stores
    /// quantizers, regions and waves in those (DdiEncodeAvc::ParseMiscParamRC).
    mutating func append(to list: inout ParameterList, _ picture: Picture) {
        if picture.isIDR || isRateChanged {
            appendRate(to: &list)
            isRateChanged = false
        } else if device.quirks.forgetsQuantizerRange, rate.quantizerRange != nil, rate.mode != .cqp {
            list.appendMiscellaneous(VAEncMiscParameterTypeRateControl.rawValue, rateControl)
        }
        if picture.isIDR { appendLimits(to: &list) }
        appendRegions(to: &list, picture.regions)
        appendRefresh(to: &list, picture.refreshPosition)
    }

    // MARK: - Parameters for all pictures

    private func appendRate(to list: inout ParameterList) {
        // With constant quantizers, each slice has its own.
        if rate.mode == .cqp { return }
        list.appendMiscellaneous(VAEncMiscParameterTypeRateControl.rawValue, rateControl)
        guard let target = rate.target else { return }
        if let size = target.bufferSize {
            var buffer = VAEncMiscParameterHRD()
            buffer.buffer_size = UInt32(clamping: size)
            buffer.initial_buffer_fullness = UInt32(
                clamping: min(rate.initialFullness ?? 0, size, device.quirks.fullnessLimit)
            )
            list.appendMiscellaneous(VAEncMiscParameterTypeHRD.rawValue, buffer)
        }
        var parameters = VAEncMiscParameterFrameRate()
        let (numerator, denominator) = frameRate.fitting16Bits(denominator: device.quirks.frameRateDenominatorLimit)
        parameters.framerate = UInt32(denominator) << 16 | UInt32(numerator)
        list.appendMiscellaneous(VAEncMiscParameterTypeFrameRate.rawValue, parameters)
    }

    private var rateControl: VAEncMiscParameterRateControl {
        var control = VAEncMiscParameterRateControl()
        if let target = rate.target {
            control.bits_per_second = UInt32(clamping: target.peak)
            control.target_percentage = UInt32(clamping: target.percentage)
            control.window_size = UInt32(clamping: target.window)
        }
        if let range = rate.quantizerRange {
            control.min_qp = UInt32(clamping: range.lowerBound)
            control.max_qp = UInt32(clamping: range.upperBound)
        }
        control.initial_qp = UInt32(clamping: rate.quantizer)
        // A frame that the driver skips cannot be distinguished from a failed one.
        control.rc_flags.bits.disable_frame_skip = 1
        control.rc_flags.bits.disable_bit_stuffing = rate.isPadded ? 0 : 1
        if let controlsMacroblocks = rate.controlsMacroblocks {
            control.rc_flags.bits.mb_rate_control = controlsMacroblocks ? 1 : 2
        }
        control.quality_factor = UInt32(clamping: rate.quality ?? 0)
        if rate.mode == .icq { control.ICQ_quality_factor = control.quality_factor }
        return control
    }

    private func appendLimits(to list: inout ParameterList) {
        if let level = device.qualityLevel {
            var quality = VAEncMiscParameterBufferQualityLevel()
            quality.quality_level = UInt32(clamping: level)
            list.appendMiscellaneous(VAEncMiscParameterTypeQualityLevel.rawValue, quality)
        }
        if let bytes = device.maximumFrameSize {
            let size = MaximumFrameSize(bits: UInt32(clamping: Int128(bytes) * 8))
            list.appendMiscellaneous(VAEncMiscParameterTypeMaxFrameSize.rawValue, size)
        }
    }

    // MARK: - Parameters for one picture

    private func appendRegions(to list: inout ParameterList, _ regions: [RegionOfInterest]) {
        let elements = regions.compactMap(rectangle).prefix(device.regions.count)
        guard !elements.isEmpty else { return }
        var parameters = VAEncMiscParameterBufferROI()
        parameters.num_roi = UInt32(clamping: elements.count)
        parameters.max_delta_qp = Int8(device.regions.offsets.upperBound)
        parameters.min_delta_qp = Int8(device.regions.offsets.lowerBound)
        parameters.roi = list.keep(Array(elements))
        // It has no meaning with constant quantizers, but iHD also refuses regions without it in that mode.
        parameters.roi_flags.bits.roi_value_is_qp_delta = 1
        list.appendMiscellaneous(VAEncMiscParameterTypeROI.rawValue, parameters)
    }

    /// Returns the part of a region inside the picture; `nil` if there is none.
    private func rectangle(_ region: RegionOfInterest) -> VAEncROI? {
        let (left, top) = (max(region.x, 0), max(region.y, 0))
        let right = min(Self.end(region.x, region.width), width, Int(Int16.max))
        let bottom = min(Self.end(region.y, region.height), height, Int(Int16.max))
        guard left < right, top < bottom else { return nil }
        let (columns, rows) = (wholeBlocks(left..<right), wholeBlocks(top..<bottom))
        let rectangle = VARectangle(
            x: Int16(columns.lowerBound),
            y: Int16(rows.lowerBound),
            width: UInt16(columns.count),
            height: UInt16(rows.count)
        )
        let offsets = device.regions.offsets
        let offset = min(max(region.quantizerOffset, offsets.lowerBound), offsets.upperBound)
        return VAEncROI(roi_rectangle: rectangle, roi_value: Int8(offset))
    }

    /// Returns the blocks that contain a part of a range. The last one may extend beyond the picture.
    private func wholeBlocks(_ range: Range<Int>) -> Range<Int> {
        let side = device.quirks.regionBlock
        return range.lowerBound / side * side..<(range.upperBound + side - 1) / side * side
    }

    private static func end(_ start: Int, _ length: Int) -> Int {
        let (end, isTooLarge) = start.addingReportingOverflow(max(length, 0))
        return isTooLarge ? .max : end
    }

    private func appendRefresh(to list: inout ParameterList, _ position: Int?) {
        guard let wave = device.intraRefresh, let position else { return }
        let blocks = wave.blocks(at: position)
        var refresh = VAEncMiscParameterRIR()
        if wave.isColumn {
            refresh.rir_flags.bits.enable_rir_column = 1
        } else {
            refresh.rir_flags.bits.enable_rir_row = 1
        }
        refresh.intra_insertion_location = UInt16(clamping: blocks.lowerBound)
        refresh.intra_insert_size = UInt16(clamping: blocks.count)
        list.appendMiscellaneous(VAEncMiscParameterTypeRIR.rawValue, refresh)
    }
}

/// `VAEncMiscParameterBufferMaxFrameSize`, whose first member is deprecated but must be set.
private struct MaximumFrameSize {
    var type = VAEncMiscParameterTypeMaxFrameSize.rawValue
    var bits: UInt32
    var reserved: (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)
}

extension Rational {
    /// Returns the ratio with 16-bit terms: unchanged if they fit, otherwise the nearest convergent of its continued
    /// fraction.
    ///
    /// - Parameter limit: The largest denominator, up to 65535.
    func fitting16Bits(denominator limit: Int) -> (numerator: UInt16, denominator: UInt16) {
        let ratio = reduced
        guard ratio.isPositive else { return (1, 1) }
        if ratio.numerator <= UInt16.max, ratio.denominator <= limit {
            return (UInt16(clamping: ratio.numerator), UInt16(clamping: ratio.denominator))
        }
        var (remainder, divisor) = (Int(ratio.numerator), Int(ratio.denominator))
        var (before, last) = ((0, 1), (1, 0))
        while divisor > 0 {
            let part = remainder / divisor
            let next = (part * last.0 + before.0, part * last.1 + before.1)
            guard next.0 <= UInt16.max, next.1 <= limit else { break }
            (before, last) = (last, next)
            (remainder, divisor) = (divisor, remainder % divisor)
        }
        return (UInt16(clamping: max(1, last.0)), UInt16(clamping: max(1, last.1)))
    }
}

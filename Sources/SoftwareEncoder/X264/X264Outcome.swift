// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
internal import MediaTypes

/// The effective settings of x264, according to its parameters and its SPS.
struct X264Outcome {
    let profile: String
    let level: String
    /// `max_num_reorder_frames`.
    let reorderDepth: Int
    let formatDescription: FormatDescription
    /// The differences from the request.
    let adjustments: [Adjustment]

    init(_ settings: X264Settings, _ actual: x264_param_t, parameterSets: [[UInt8]]) throws(MediaError) {
        let sequence: H264SequenceParameterSet
        do {
            sequence = try H264SequenceParameterSet(nalUnit: parameterSets.first ?? [])
        } catch {
            throw MediaError(.creationFailed, "x264 returned an invalid sequence parameter set: \(error)")
        }
        let configuration = settings.configuration
        profile = sequence.profileName
        level = sequence.level
        reorderDepth = sequence.maxNumReorderFrames
        formatDescription = FormatDescription(
            codec: .h264,
            width: sequence.displaySize.width,
            height: sequence.displaySize.height,
            parameterSets: parameterSets,
            color: ColorDescription(sequence.vui?.signal),
            pixelAspectRatio: sequence.pixelAspectRatio ?? .one,
            attachments: PixelAttachments(
                masteringDisplay: configuration.masteringDisplay,
                contentLight: configuration.contentLight
            )
        )
        adjustments = Self.adjustments(settings, actual, sequence)
    }

    private static func adjustments(
        _ settings: X264Settings,
        _ actual: x264_param_t,
        _ sequence: H264SequenceParameterSet
    ) -> [Adjustment] {
        let (configuration, asked) = (settings.configuration, settings.parameters)
        var adjustments: [Adjustment] = []
        func report<Value: Equatable>(_ property: String, _ requested: Value, _ used: Value, _ reason: String) {
            guard requested != used else { return }
            adjustments.append(
                Adjustment(property: property, requested: "\(requested)", used: "\(used)", reason: reason)
            )
        }
        if configuration.software.threads > 0 {
            report("threads", asked.i_threads, actual.i_threads, "the picture has too few rows")
        }
        if case .maximum = configuration.bFrames {
            let reason = "the key-frame interval or lossless coding limits them"
            report("b-frames", asked.i_bframe, actual.i_bframe, reason)
        }
        let slices = max(1, Int(actual.i_slice_count))
        report("slices", configuration.slices, slices, sliceReason(actual, maximum: settings.maximumSlices))
        if let range = configuration.quantizerRange, asked.rc.i_rc_method == X264_RC_CQP {
            let derived = settings.frameQuantizers(actual)
            let used = range.contains(derived.lowerBound) && range.contains(derived.upperBound) ? range : derived
            report("quantizer range", range, used, "x264 derives those of I- and B-frames from the constant quantizer")
        }
        if let fullness = configuration.initialBufferFullness, actual.rc.i_vbv_buffer_size > 0 {
            let reason = "the buffer holds at least the bits of one frame period"
            report("initial buffer fullness", Float(fullness), actual.rc.f_vbv_buffer_init, reason)
        }
        report(
            "rate buffer",
            "\(asked.rc.i_vbv_buffer_size) kbit",
            "\(actual.rc.i_vbv_buffer_size) kbit",
            "x264 allows one frame at the peak rate to 2000000 kbit"
        )
        if let ratio = configuration.pixelAspectRatio, let used = sequence.pixelAspectRatio {
            report("pixel aspect ratio", ratio, used, "numerator and denominator have 16 bits")
        }
        if let profile = configuration.profile, sequence.profileIdc != profile.profileIdc {
            let reason = "the other settings need no higher profile"
            report("profile", profile.rawValue, sequence.profileName, reason)
        }
        return adjustments
    }
}

extension X264Outcome {
    private static func sliceReason(_ actual: x264_param_t, maximum: Int) -> String {
        if actual.b_sliced_threads != 0 { return "in low-latency mode, x264 codes one slice per thread" }
        if Int(actual.i_slice_count) == maximum { return "the level allows no more for this size and frame rate" }
        return "a slice has at least a row of macroblocks"
    }
}

extension VideoProfile {
    fileprivate var profileIdc: UInt32? {
        switch self {
        case .h264Baseline: 66
        case .h264Main: 77
        case .h264High: 100
        case .h264High10: 110
        default: nil
        }
    }
}

extension H264SequenceParameterSet {
    fileprivate var pixelAspectRatio: Rational? { sampleAspectRatio.map(Rational.init) }
}

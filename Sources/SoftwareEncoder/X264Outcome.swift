// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
internal import MediaTypes

/// What x264 made of its settings, as its parameters and its SPS tell it.
struct X264Outcome {
    let profile: String
    let level: String
    /// `max_num_reorder_frames`.
    let reorderDepth: Int
    /// Where the outcome is not what was asked for.
    let adjustments: [Adjustment]

    init(_ settings: X264Settings, actual: x264_param_t, sequenceParameterSet: [UInt8]) throws(MediaError) {
        let sequence = try SequenceIdentity(sequenceParameterSet)
        profile = sequence.profile
        level = sequence.level
        reorderDepth = actual.i_bframe_pyramid != X264_B_PYRAMID_NONE ? 2 : actual.i_bframe > 0 ? 1 : 0

        let asked = settings.parameters
        var adjustments: [Adjustment] = []
        func compare(_ property: String, _ asked: Int32, _ actual: Int32, unit: String = "", _ reason: String) {
            guard asked != actual else { return }
            adjustments.append(
                Adjustment(property: property, requested: "\(asked)\(unit)", used: "\(actual)\(unit)", reason: reason)
            )
        }
        if asked.i_threads != X264_THREADS_AUTO {
            compare("threads", asked.i_threads, actual.i_threads, "the picture has too few rows")
        }
        if case .maximum = settings.configuration.bFrames {
            compare(
                "b-frames",
                asked.i_bframe,
                actual.i_bframe,
                "the key-frame interval or lossless coding limits them"
            )
        }
        let buffer = (asked.rc.i_vbv_buffer_size, actual.rc.i_vbv_buffer_size)
        compare(
            "rate buffer",
            buffer.0,
            buffer.1,
            unit: " kbit",
            "x264 takes one frame at the peak rate to 2000000 kbit"
        )
        if let ratio = settings.configuration.pixelAspectRatio {
            let used = Rational(actual.vui.i_sar_width, actual.vui.i_sar_height)
            if ratio != used {
                adjustments.append(
                    Adjustment(
                        property: "pixel aspect ratio",
                        requested: "\(ratio.numerator):\(ratio.denominator)",
                        used: "\(used.numerator):\(used.denominator)",
                        reason: "the terms have 16 bits"
                    )
                )
            }
        }
        if let asked = settings.configuration.profile, sequence.profileIDC != asked.profileIDC {
            adjustments.append(
                Adjustment(
                    property: "profile",
                    requested: asked.rawValue,
                    used: sequence.profile,
                    reason: "the other settings use nothing beyond it"
                )
            )
        }
        self.adjustments = adjustments
    }
}

extension VideoProfile {
    fileprivate var profileIDC: UInt8? {
        switch self {
        case .h264Baseline: 66
        case .h264Main: 77
        case .h264High: 100
        case .h264High10: 110
        case .hevcMain, .hevcMain10: nil
        }
    }
}

/// Profile and level of an SPS: the three bytes behind its NAL unit header, H.264 7.3.2.1.1.
struct SequenceIdentity {
    let profileIDC: UInt8
    let profile: String
    let level: String

    init(_ unit: [UInt8]) throws(MediaError) {
        guard unit.count > 3 else {
            throw MediaError(.creationFailed, "x264 made a sequence parameter set of \(unit.count) bytes")
        }
        profileIDC = unit[1]
        let constraints = unit[2]
        let levelIDC = unit[3]
        let isConstrained = constraints & 0x40 != 0
        profile =
            switch profileIDC {
            case 66: isConstrained ? "Constrained Baseline" : "Baseline"
            case 77: "Main"
            case 100: "High"
            case 110: "High 10"
            case 244: "High 4:4:4 Predictive"
            default: "\(profileIDC)"
            }
        // Level 1b is level 1.1 with constraint_set3_flag in these profiles, H.264 7.4.2.1.1.
        let is1b = levelIDC == 11 && constraints & 0x10 != 0 && (profileIDC == 66 || profileIDC == 77)
        level = H264Level(levelIDC: is1b ? 9 : levelIDC)?.name ?? "\(levelIDC)"
    }
}

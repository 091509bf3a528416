// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import CPulse

extension AudioFormat {
    /// The nearest format to that of a source, with the usual layout of its number of channels.
    init?(_ specification: pa_sample_spec) {
        let layout = ChannelLayout.standard(channelCount: Int(specification.channels))
        guard let layout, Self.allowedSampleRates.contains(Int(specification.rate)) else { return nil }
        let type: SampleType =
            switch specification.format {
            case PA_SAMPLE_U8, PA_SAMPLE_ALAW, PA_SAMPLE_ULAW, PA_SAMPLE_S16LE, PA_SAMPLE_S16BE: .int16
            case PA_SAMPLE_S24LE, PA_SAMPLE_S24BE: .int24
            case PA_SAMPLE_S32LE, PA_SAMPLE_S32BE, PA_SAMPLE_S24_32LE, PA_SAMPLE_S24_32BE: .int32
            default: .float32
            }
        self.init(sampleType: type, sampleRate: Int(specification.rate), layout: layout)
    }

    /// The format as PulseAudio takes it.
    var pulseSpecification: pa_sample_spec {
        pa_sample_spec(
            format: pa_parse_sample_format(sampleType.pulseName),
            rate: UInt32(clamping: sampleRate),
            channels: UInt8(clamping: layout.channelCount)
        )
    }
}

extension AudioFormat.SampleType {
    /// The name for `pa_parse_sample_format`, in the byte order of the machine.
    fileprivate var pulseName: String {
        switch self {
        case .int16: "s16ne"
        case .int24: "s24ne"
        case .int32: "s32ne"
        case .float32: "float32ne"
        }
    }
}

extension ChannelLayout {
    /// The channels for `pa_channel_map_parse`.
    var pulseNames: String {
        if self == .mono { return "mono" }
        return Self.pulsePositions.filter { speakers.contains($0.speaker) }.map(\.name).joined(separator: ",")
    }

    /// The loudspeakers in the order of ``Speakers``' bits.
    private static let pulsePositions: [(speaker: Speakers, name: String)] = [
        (.frontLeft, "front-left"), (.frontRight, "front-right"), (.frontCenter, "front-center"),
        (.lowFrequency, "lfe"), (.backLeft, "rear-left"), (.backRight, "rear-right"), (.backCenter, "rear-center"),
        (.sideLeft, "side-left"), (.sideRight, "side-right"),
    ]
}

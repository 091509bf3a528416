// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg

extension AudioFormat {
    /// The sample format in which FFmpeg gets these samples; it has none of 24 bits, which become 32.
    var libraryFormat: AVSampleFormat {
        switch (sampleType, isInterleaved) {
        case (.int16, true): AV_SAMPLE_FMT_S16
        case (.int16, false): AV_SAMPLE_FMT_S16P
        case (.int24, true), (.int32, true): AV_SAMPLE_FMT_S32
        case (.int24, false), (.int32, false): AV_SAMPLE_FMT_S32P
        case (.float32, true): AV_SAMPLE_FMT_FLT
        case (.float32, false): AV_SAMPLE_FMT_FLTP
        }
    }

    /// Makes the format of frames of FFmpeg; `nil` for sample formats without a counterpart.
    init?(_ format: AVSampleFormat, sampleRate: Int, layout: ChannelLayout) {
        let type: SampleType
        switch format {
        case AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16P: type = .int16
        case AV_SAMPLE_FMT_S32, AV_SAMPLE_FMT_S32P: type = .int32
        case AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_FLTP: type = .float32
        default: return nil
        }
        self.init(
            sampleType: type,
            sampleRate: sampleRate,
            layout: layout,
            isInterleaved: av_sample_fmt_is_planar(format) == 0
        )
    }
}

extension ChannelLayout {
    /// FFmpeg's layout. It owns no memory, because it has FFmpeg's own order.
    var libraryLayout: AVChannelLayout {
        var layout = AVChannelLayout()
        av_channel_layout_from_mask(&layout, speakers.rawValue)
        return layout
    }

    /// Makes the layout of a stream or frame. Channels without known loudspeakers get the usual ones.
    init?(_ layout: AVChannelLayout) {
        if layout.order == AV_CHANNEL_ORDER_NATIVE, let known = ChannelLayout(speakers: .init(rawValue: layout.u.mask))
        {
            self = known
        } else if let usual = ChannelLayout.standard(channelCount: Int(layout.nb_channels)) {
            self = usual
        } else {
            return nil
        }
    }
}

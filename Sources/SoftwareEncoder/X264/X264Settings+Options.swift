// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264
internal import MediaTypes

// Options that not every encoder supports: slices, intra refresh, limits on rate control.

extension X264Settings {
    /// Sets the number of slices. With low latency, x264 encodes the slices of a picture in parallel, as many as it has
    /// threads; otherwise every picture has the requested number.
    mutating func setSlices() {
        guard configuration.slices > 1 else { return }
        parameters.i_slice_count = Int32(clamping: min(configuration.slices, maximumSlices))
        if parameters.b_sliced_threads != 0, configuration.software.threads == 0 {
            parameters.i_threads = parameters.i_slice_count
        }
    }

    /// The maximum that the requested level allows, which x264 does not check.
    var maximumSlices: Int {
        configuration.h264Level?.maximumSlices(
            width: configuration.width,
            height: configuration.height,
            frameRate: configuration.frameRate,
            in: configuration.profile ?? .h264High
        ) ?? .max
    }

    /// Sets intra refresh. x264 supports it with one reference only. A scene cut would start a new group.
    mutating func setIntraRefresh() {
        guard let period = configuration.intraRefreshPeriod else { return }
        parameters.b_intra_refresh = 1
        parameters.i_keyint_max = Int32(clamping: period)
        parameters.i_scenecut_threshold = 0
        parameters.i_frame_reference = 1
        parameters.i_bframe = 0
    }

    mutating func setRateLimits() {
        if let range = configuration.quantizerRange {
            parameters.rc.i_qp_min = Int32(clamping: range.lowerBound + quantizerOffset)
            parameters.rc.i_qp_max = Int32(clamping: range.upperBound + quantizerOffset)
        }
        guard let fullness = configuration.initialBufferFullness else { return }
        parameters.rc.f_vbv_buffer_init = Float(fullness)
        if parameters.rc.i_vbv_buffer_size == 0 {
            let reason = "rate control has no peak limit and no buffer"
            adjust("initial buffer fullness", from: "\(fullness)", to: "none", reason)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import CALSA
internal import Glibc
internal import MediaTypes

/// An open device of ALSA.
final class ALSADevice {
    let handle: OpaquePointer
    private let name: String

    /// The number of periods of the device's buffer, at least.
    static let mostPeriods = 8
    /// The least length of the device's buffer in microseconds.
    private static let leastBuffer: UInt32 = 200_000

    /// Opens a device for recording.
    init(_ name: String) throws(MediaError) {
        Self.silence()
        var handle: OpaquePointer?
        let status = snd_pcm_open(&handle, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK))
        guard status >= 0, let handle else { throw Self.refusal(status, name) }
        (self.handle, self.name) = (handle, name)
    }

    deinit { snd_pcm_close(handle) }

    /// Keeps the library from writing to the standard error output.
    static func silence() { _ = silenced }
    private static let silenced = calsa_silence()

    /// Makes the device record.
    func start() throws(MediaError) {
        let prepared = snd_pcm_prepare(handle)
        guard prepared >= 0 else { throw failure(prepared, "snd_pcm_prepare") }
        let started = snd_pcm_start(handle)
        guard started >= 0 else { throw failure(started, "snd_pcm_start") }
    }

    /// Sets format, rate, channels and buffers.
    ///
    /// - Returns: The format, and the number of frames of a period.
    func configure(_ request: ALSASource.Request) throws(MediaError) -> (AudioFormat, Int) {
        var space: OpaquePointer?
        guard snd_pcm_hw_params_malloc(&space) >= 0, let space else {
            throw MediaError(.outOfMemory, "no memory for parameters", call: "snd_pcm_hw_params_malloc")
        }
        defer { snd_pcm_hw_params_free(space) }
        try check(snd_pcm_hw_params_any(handle, space), "snd_pcm_hw_params_any")
        try check(
            snd_pcm_hw_params_set_access(handle, space, SND_PCM_ACCESS_RW_INTERLEAVED),
            "snd_pcm_hw_params_set_access"
        )
        let type = try sampleType(space)
        let channels = try channels(request.channelCount, space)
        let rate = try rate(request.sampleRate, space)

        var period = UInt32((request.bufferLength * 1e6).rounded())
        var direction: Int32 = 0
        try check(
            snd_pcm_hw_params_set_period_time_near(handle, space, &period, &direction),
            "snd_pcm_hw_params_set_period_time_near"
        )
        var length = max(period &* UInt32(Self.mostPeriods), Self.leastBuffer)
        try check(
            snd_pcm_hw_params_set_buffer_time_near(handle, space, &length, &direction),
            "snd_pcm_hw_params_set_buffer_time_near"
        )
        try check(snd_pcm_hw_params(handle, space), "snd_pcm_hw_params")
        var frames: snd_pcm_uframes_t = 0
        try check(snd_pcm_hw_params_get_period_size(space, &frames, &direction), "snd_pcm_hw_params_get_period_size")
        try setTimestamps(wakeAfter: frames)
        guard let layout = ChannelLayout.standard(channelCount: channels),
            AudioFormat.allowedSampleRates.contains(rate), (1...AudioBuffer.mostFrames).contains(Int(clamping: frames))
        else {
            throw MediaError(
                .unsupported,
                "the sound device has an unknown format",
                given: "\(channels) channels at \(rate) Hz"
            )
        }
        return (AudioFormat(sampleType: type, sampleRate: rate, layout: layout), Int(frames))
    }

    /// Chooses the most exact type of samples.
    private func sampleType(_ space: OpaquePointer) throws(MediaError) -> AudioFormat.SampleType {
        let types: [(AudioFormat.SampleType, snd_pcm_format_t)] = [
            (.int32, SND_PCM_FORMAT_S32), (.float32, SND_PCM_FORMAT_FLOAT), (.int24, SND_PCM_FORMAT_S24_3LE),
            (.int16, SND_PCM_FORMAT_S16),
        ]
        for (type, format) in types where snd_pcm_hw_params_set_format(handle, space, format) >= 0 { return type }
        throw MediaError(
            .unsupported,
            "the sound device has no known type of samples",
            given: name,
            allowed: types.map(\.0.rawValue).joined(separator: ", "),
            call: "snd_pcm_hw_params_set_format",
            remedies: ["let ALSA convert: plug\(name)"]
        )
    }

    private func channels(_ wanted: Int?, _ space: OpaquePointer) throws(MediaError) -> Int {
        var count = UInt32(wanted ?? 2)
        try check(
            snd_pcm_hw_params_set_channels_near(handle, space, &count),
            "snd_pcm_hw_params_set_channels_near"
        )
        if let wanted, wanted != count {
            throw missing("number of channels", "\(wanted)", "nearest \(count)")
        }
        return Int(count)
    }

    private func rate(_ wanted: Int?, _ space: OpaquePointer) throws(MediaError) -> Int {
        var rate = UInt32(wanted ?? 48000)
        var direction: Int32 = 0
        try check(
            snd_pcm_hw_params_set_rate_near(handle, space, &rate, &direction),
            "snd_pcm_hw_params_set_rate_near"
        )
        if let wanted, wanted != rate { throw missing("sample rate", "\(wanted) Hz", "nearest \(rate) Hz") }
        return Int(rate)
    }

    private func missing(_ property: String, _ given: String, _ allowed: String) -> MediaError {
        MediaError(
            .unsupported,
            "the sound device \(name) does not have the \(property)",
            given: given,
            allowed: allowed,
            remedies: ["let ALSA convert: plug\(name)"]
        )
    }

    private func setTimestamps(wakeAfter frames: snd_pcm_uframes_t) throws(MediaError) {
        var space: OpaquePointer?
        guard snd_pcm_sw_params_malloc(&space) >= 0, let space else {
            throw MediaError(.outOfMemory, "no memory for parameters", call: "snd_pcm_sw_params_malloc")
        }
        defer { snd_pcm_sw_params_free(space) }
        try check(snd_pcm_sw_params_current(handle, space), "snd_pcm_sw_params_current")
        try check(snd_pcm_sw_params_set_avail_min(handle, space, frames), "snd_pcm_sw_params_set_avail_min")
        snd_pcm_sw_params_set_tstamp_mode(handle, space, SND_PCM_TSTAMP_ENABLE)
        snd_pcm_sw_params_set_tstamp_type(handle, space, SND_PCM_TSTAMP_TYPE_MONOTONIC)
        try check(snd_pcm_sw_params(handle, space), "snd_pcm_sw_params")
    }

    private func check(_ status: Int32, _ call: String) throws(MediaError) {
        guard status < 0 else { return }
        throw MediaError(
            .unsupported,
            "the sound device cannot be set up: \(Self.text(status))",
            given: name,
            call: call,
            status: Int(status)
        )
    }
}

// MARK: - Errors

extension ALSADevice {
    /// The library's description of a status.
    static func text(_ status: Int32) -> String { snd_strerror(status).map { String(cString: $0) } ?? "\(status)" }

    /// The error of a device that fails.
    func failure(_ status: Int32, _ call: String) -> MediaError {
        let isGone = [-ENODEV, -EBADFD, -ENOENT].contains(status)
        return MediaError(
            isGone ? .unavailable : .inputOutput,
            isGone ? "the sound device is gone" : "the sound device fails: \(Self.text(status))",
            given: name,
            call: call,
            status: Int(status),
            isPermanent: false
        )
    }

    private static func refusal(_ status: Int32, _ name: String) -> MediaError {
        func refusal(
            _ code: MediaError.Code,
            _ message: String,
            allowed: String? = nil,
            _ remedies: [String] = []
        ) -> MediaError {
            MediaError(
                code,
                message,
                given: name,
                allowed: allowed,
                call: "snd_pcm_open",
                status: Int(status),
                isPermanent: false,
                remedies: remedies
            )
        }
        switch -status {
        case EBUSY, EAGAIN:
            return refusal(
                .busy,
                "another program, such as a sound server, uses the sound device",
                ["capture from the sound server instead", "let ALSA share it: dsnoop:CARD"]
            )
        case EACCES, EPERM:
            return refusal(
                .unavailable,
                "this user may not open the sound device",
                ["join the group, then log in again: sudo usermod -aG audio $USER"]
            )
        case ENOENT, ENODEV, ENXIO:
            let names = ((try? ALSASource.sources()) ?? []).map(\.name).joined(separator: ", ")
            return refusal(
                .unavailable,
                "there is no such sound device",
                allowed: names.isEmpty ? "none: ALSA has no sound device" : names
            )
        default: return refusal(.unavailable, "the sound device cannot be opened: \(text(status))")
        }
    }
}

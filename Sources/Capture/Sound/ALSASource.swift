// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
internal import CALSA
internal import Glibc
public import MediaTypes

/// Sound from a device of ALSA, without a sound server.
///
/// Overruns, which happen if the reader is slower than the buffer of at least 200 ms allows, are recovered and counted
/// in ``CapturedSound/lostFrames``.
public final class ALSASource: SoundDevice {
    /// What to capture.
    public struct Request: Sendable, Hashable {
        /// The name of the device, such as `default`, `hw:1,0`, `plughw:1,0`, or one of ``ALSASource/sources()``.
        public var device: String
        /// The sample rate in Hz, 1000 to 768000. `nil` means 48000 Hz, or the nearest that the device has.
        public var sampleRate: Int?
        /// The number of channels, 1 to 8. `nil` means two, or the nearest number that the device has.
        public var channelCount: Int?
        /// The length of a buffer in seconds, 0.002 to 1, or the nearest that the device has.
        public var bufferLength = 0.01

        /// Makes a request with the usual rate and channels.
        public init(_ device: String = "default") { self.device = device }
    }

    /// The name of the device.
    public let name: String
    /// The format of the buffers.
    public let format: AudioFormat

    private let device: ALSADevice
    private let stop: StopSignal
    private let period: Int
    /// When the latest frame was captured, before an overrun; in nanoseconds.
    private var lastTime: Int64?
    private var hasLost = false

    /// Opens a device.
    ///
    /// - Parameters:
    ///   - request: What to capture.
    ///   - stop: Ends every wait.
    /// - Throws: `busy` if another program has the device; `unavailable` if there is no such device or no right to it;
    ///   `unsupported` if it does not have the rate or the channels; `invalidArgument` for a value out of range.
    public init(_ request: Request = Request(), stop: StopSignal) throws(MediaError) {
        try request.check()
        name = request.device
        device = try ALSADevice(request.device)
        self.stop = stop
        (format, period) = try device.configure(request)
        try device.start()
    }

    /// Waits for the next buffer.
    ///
    /// - Throws: `cancelled` after the stop signal; `unavailable` if the device is gone; `inputOutput` if it fails.
    public func read() throws(MediaError) -> CapturedSound {
        while true {
            try stop.check()
            let available = snd_pcm_avail_update(device.handle)
            if available < 0 {
                try recover(Int32(clamping: available))
            } else if available < period {
                try wait()
            } else if let sound = try take(min(available, period * ALSADevice.mostPeriods)) {
                return sound
            }
        }
    }

    private func take(_ wanted: Int) throws(MediaError) -> CapturedSound? {
        var (available, stated) = (snd_pcm_uframes_t(0), Int64(0))
        let hasTimestamp = calsa_timestamp(device.handle, &available, &stated) >= 0
        let now = MonotonicClock.now.value

        var status: Int = 0
        let buffer = AudioBuffer(format: format, frameCount: wanted) { _, memory in
            status = snd_pcm_readi(device.handle, memory.baseAddress, snd_pcm_uframes_t(wanted))
        }
        if status == -Int(EAGAIN) { return nil }
        guard status >= 0 else {
            try recover(Int32(clamping: status))
            return nil
        }
        // Some plug-ins have no timestamps, or none of this clock.
        let isUsable = hasTimestamp && (0...1_000_000_000).contains(now - stated) && Int(available) >= status
        let time = isUsable ? stated - format.nanoseconds(Int(available) - status) : now
        defer { (lastTime, hasLost) = (time, false) }
        let lost = hasLost ? lastTime.map { OverrunLoss.frames(from: $0, to: time, read: status, format) } : nil
        return CapturedSound(
            buffer.prefix(status),
            arrival: MediaTime(value: time, timescale: 1_000_000_000),
            lostFrames: lost ?? 0
        )
    }

    private func wait() throws(MediaError) {
        var descriptors = [Int32](repeating: -1, count: Int(CALSA_DESCRIPTORS))
        var events = [Int16](repeating: 0, count: Int(CALSA_DESCRIPTORS))
        let count = calsa_descriptors(device.handle, &descriptors, &events)
        guard count >= 0 else { throw device.failure(count, "snd_pcm_poll_descriptors") }
        let awaited = zip(descriptors, events).prefix(Int(count)).map { (descriptor: $0, events: $1) }
        let occurred = try stop.wait(for: awaited, until: Self.longestWait)
        let result = calsa_events(device.handle, descriptors, events, occurred, count)
        let isReady = result > 0 && result & Int32(POLLIN | POLLERR | POLLHUP | POLLNVAL) != 0
        // A plug-in may be ready before a whole buffer is there.
        if isReady, snd_pcm_avail_update(device.handle) >= 0 { try stop.wait(for: [], until: 1) }
    }

    /// The longest wait for an event in milliseconds: some drivers do not tell that a device is gone.
    private static let longestWait: Int32 = 1000

    /// Continues after an overrun or a suspended system.
    private func recover(_ status: Int32) throws(MediaError) {
        hasLost = true
        if status == -ESTRPIPE {
            while snd_pcm_resume(device.handle) == -EAGAIN { try stop.wait(for: [], until: 100) }
        } else if status != -EPIPE {
            throw device.failure(status, "snd_pcm_readi")
        }
        try device.start()
    }

    /// The devices that can record, with all plug-ins of ALSA.
    ///
    /// - Throws: `inputOutput` if ALSA's configuration cannot be read.
    public static func sources() throws(MediaError) -> [SoundSourceDescription] {
        ALSADevice.silence()
        var hints: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        let status = snd_device_name_hint(-1, "pcm", &hints)
        guard status >= 0, let hints else {
            throw MediaError(
                .inputOutput,
                "ALSA's configuration cannot be read: \(ALSADevice.text(status))",
                call: "snd_device_name_hint",
                status: Int(status)
            )
        }
        defer { snd_device_name_free_hint(hints) }
        var sources: [SoundSourceDescription] = []
        var index = 0
        while let hint = hints[index] {
            index += 1
            guard let name = value("NAME", of: hint), value("IOID", of: hint) != "Output" else { continue }
            let text = value("DESC", of: hint)?.split(whereSeparator: \.isNewline).joined(separator: ", ")
            sources.append(
                SoundSourceDescription(name: name, text: text ?? name, isDefault: name == "default")
            )
        }
        return sources
    }

    /// Whether a device is an input of a sound card, or one that the system has chosen, and not a plug-in that only serves
    /// other devices, such as a converter.
    package static func isInput(_ name: String) -> Bool {
        if ["default", "pulse"].contains(name) { return true }
        let parts = name.split(separator: ":", maxSplits: 1)
        return parts.count == 2 && ["front", "hw", "plughw", "sysdefault"].contains(parts[0])
            && parts[1].contains("CARD=")
    }

    private static func value(_ key: String, of hint: UnsafeRawPointer) -> String? {
        guard let text = snd_device_name_get_hint(hint, key) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}

/// What an overrun has lost.
enum OverrunLoss {
    /// Returns the number of frames that are lost between two times, after both of which frames follow.
    ///
    /// - Parameters:
    ///   - before: When the last frame before the overrun was captured, in nanoseconds.
    ///   - after: When the last frame of the first buffer after it was captured.
    ///   - count: The number of frames of that buffer.
    static func frames(from before: Int64, to after: Int64, read count: Int, _ format: AudioFormat) -> Int {
        let elapsed = Double(after - before) / 1e9 * Double(format.sampleRate)
        return max(Int(elapsed.rounded()) - count, 0)
    }
}

extension ALSASource.Request {
    private static let bufferLengths = 0.002...1.0

    /// - Throws: `invalidArgument` for a value out of range.
    fileprivate func check() throws(MediaError) {
        if let sampleRate, !AudioFormat.allowedSampleRates.contains(sampleRate) {
            throw .outOfRange("sample rate", "\(sampleRate) Hz", "\(AudioFormat.allowedSampleRates.text) Hz")
        }
        if let channelCount, !ChannelLayout.standardChannelCounts.contains(channelCount) {
            throw .outOfRange("number of channels", "\(channelCount)", ChannelLayout.standardChannelCounts.text)
        }
        guard Self.bufferLengths.contains(bufferLength) else {
            throw .outOfRange("length of a buffer", "\(bufferLength) s", "\(Self.bufferLengths.text) s")
        }
    }
}

extension AudioFormat {
    /// The duration of frames in nanoseconds.
    func nanoseconds(_ frames: Int) -> Int64 { Int64(frames) * 1_000_000_000 / Int64(max(sampleRate, 1)) }
}

extension AudioBuffer {
    /// The first frames of an interleaved buffer.
    func prefix(_ count: Int) -> AudioBuffer {
        guard count < frameCount else { return self }
        return withUnsafePlanes { planes in
            AudioBuffer(format: format, frameCount: count, presentationTime: presentationTime) { index, memory in
                memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: planes[index][..<memory.count]))
            }
        }
    }
}

extension StopSignal {
    /// - Throws: `cancelled` after `stop()`.
    func check() throws(MediaError) { try wait(for: [], until: 0) }
}

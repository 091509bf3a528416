// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Glibc
import MediaTypes

/// The device information that processes share through a ``SelectionState``: active sessions and failures.
struct DeviceBoard: Sendable {
    let state: SelectionState

    // MARK: - Active sessions

    /// The load of a device.
    struct Load: Sendable, Hashable, Comparable {
        /// The number of active sessions.
        var sessions = 0
        /// The luma samples that these sessions encode and decode per second.
        var sampleRate = 0.0

        static func < (one: Load, other: Load) -> Bool {
            one.sessions == other.sessions ? one.sampleRate < other.sampleRate : one.sessions < other.sessions
        }
    }

    /// A session that uses a device.
    struct Use: Sendable, Hashable {
        var process: Int
        var sampleRate: Double
        var codec: String
        /// Whether it decodes, which is not part of the text.
        var isDecoding = false

        var text: String { "\(process) \(Int(sampleRate)) \(codec)" }

        init(process: Int, sampleRate: Double, codec: String) {
            self.process = process
            self.sampleRate = sampleRate
            self.codec = codec
        }

        /// The use by a session of this process, whose configuration may still turn out to be invalid.
        init(_ configuration: EncoderConfiguration, _ codec: VideoCodec) {
            let rate = configuration.frameRate.isPositive ? configuration.frameRate.doubleValue : 0
            let samples = Double(configuration.width) * Double(configuration.height) * rate
            self.init(process: Int(getpid()), sampleRate: min(max(samples, 0), 1e15), codec: codec.rawValue)
        }

        /// The use by a decoder of this process, as if for 30 pictures per second: formats do not state a rate.
        init(_ format: FormatDescription) {
            let samples = Double(max(format.width, 0)) * Double(max(format.height, 0))
            self.init(process: Int(getpid()), sampleRate: min(samples * 30, 1e15), codec: format.codec.rawValue)
            isDecoding = true
        }

        init?(_ text: String) {
            let words = text.split(separator: " ")
            guard words.count >= 3, let process = Int(words[0]), let rate = Double(words[1]) else { return nil }
            self.init(process: process, sampleRate: rate, codec: String(words[2]))
        }
    }

    /// The sessions that encode or decode on a device, as far as they have described their use.
    func uses(of device: String, decoding isDecoding: Bool) -> [Use] {
        state.places(Self.placesName(device, isDecoding)).map {
            Use($0.text) ?? Use(process: 0, sampleRate: 0, codec: "")
        }
    }

    /// The load by encoders and decoders.
    func load(of device: String) -> Load {
        let uses = uses(of: device, decoding: false) + uses(of: device, decoding: true)
        return Load(sessions: uses.count, sampleRate: uses.reduce(0) { $0 + $1.sampleRate })
    }

    /// Registers a session on a device until the lock is released. Returns `nil` if the limit is reached. Encoders and
    /// decoders have separate places, because a transcode needs one of each.
    func use(_ device: String, limit: Int?, _ use: Use) -> StateLock? {
        let limit = min(limit ?? SelectionState.places, SelectionState.places)
        return state.takePlace(Self.placesName(device, use.isDecoding), of: limit, use.text)
    }

    private static func placesName(_ device: String, _ isDecoding: Bool) -> String {
        "sessions/\(device)\(DeviceTask.suffix(isDecoding: isDecoding))"
    }

    /// Selects the device with the lowest load and takes a place on it. Processes that start at the same time do not
    /// all select the same device.
    ///
    /// - Returns: The devices in the order of their load, and a place on the first device that had a free one.
    func spread(
        over devices: [String],
        limit: Int?,
        _ use: Use
    ) -> (order: [Int], taken: (index: Int, place: StateLock)?) {
        // Without the turn lock, two processes may select the same device. This is not an error.
        let turn = state.lock("sessions/.turn", within: .seconds(2))
        defer { turn?.release() }
        let loads = devices.map { load(of: $0) }
        let order = devices.indices.sorted { (loads[$0], $0) < (loads[$1], $1) }
        for index in order {
            if let place = self.use(devices[index], limit: limit, use) { return (order, (index, place)) }
        }
        return (order, nil)
    }

    // MARK: - Failures

    /// The circuit breaker of a device for a task.
    func breaker(_ device: String, _ task: DeviceTask) -> CircuitBreaker {
        state.record(Self.name(device, task)).flatMap { CircuitBreaker($0) } ?? CircuitBreaker()
    }

    func change(_ device: String, _ task: DeviceTask, _ change: (inout CircuitBreaker) -> Void) {
        state.update(Self.name(device, task)) { record in
            var breaker = record.flatMap { CircuitBreaker($0) } ?? CircuitBreaker()
            change(&breaker)
            return breaker.isBlank ? nil : breaker.record
        }
    }

    /// Registers the caller as the only one who tries a device, until the lock is released. Returns `nil` if another
    /// session tries it.
    func trial(_ device: String, _ task: DeviceTask) -> StateLock? {
        state.tryLock(Self.name(device, task) + ".trial")
    }

    /// Whether a session tries a device.
    func isTried(_ device: String, _ task: DeviceTask) -> Bool { state.isLocked(Self.name(device, task) + ".trial") }

    private static func name(_ device: String, _ task: DeviceTask) -> String {
        "breakers/\(device)-\(task.codec.rawValue)\(task.suffix)"
    }
}

extension CircuitBreaker {
    /// Restores a stored breaker. Returns `nil` if the record is invalid.
    init?(_ record: StateRecord) {
        guard record["kind"] == "breaker", let openings = record["openings"].flatMap(Int.init), openings >= 0 else {
            return nil
        }
        let failures = (record["failures"] ?? "").split(separator: " ").compactMap { Double($0) }
        let bounds = (record["pause"] ?? "").split(separator: " ").compactMap { Double($0) }
        self.init(failures: failures, openings: openings, pause: Self.pause(bounds), reason: record["reason"] ?? "")
    }

    /// Restores a stored pause. Returns `nil` if the record contains no valid pause.
    private static func pause(_ bounds: [Time]) -> ClosedRange<Time>? {
        guard bounds.count == 2, bounds[0] <= bounds[1] else { return nil }
        let longest: Time = BreakerTimes.allowedTimes.upperBound / .seconds(1)
        return bounds[1] - bounds[0] <= longest ? bounds[0]...bounds[1] : nil
    }

    var record: StateRecord {
        var record = StateRecord([
            "kind": "breaker", "openings": "\(openings)", "reason": reason,
            "failures": failures.map { "\($0)" }.joined(separator: " "),
        ])
        record["pause"] = pause.map { "\($0.lowerBound) \($0.upperBound)" }
        return record
    }
}

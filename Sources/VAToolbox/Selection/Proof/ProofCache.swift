// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
package import MediaTypes

/// The stored result of a test encode or test decode.
package struct ProofRecord: Sendable, Hashable {
    /// Whether the test passed.
    package var isPassed: Bool
    /// Whether pictures were compared, if the test passed.
    package var isDecoded: Bool
    /// The name of the stage that failed: a ``TestEncode/Stage`` or ``TestDecode/Stage``.
    package var stage: String?
    /// The reason for the failure, as text.
    package var reason: String
    /// The cause of the failure, unless only the output was wrong.
    package var cause: MediaError.Cause?
    /// The driver's vendor string; empty if the test ended before it was known.
    package var driver: String
    /// The short name of the device.
    package var device: String
    /// The class of configurations or streams that was tested.
    package var configuration: String
    /// The time of the test, in seconds since 1970.
    package var time: Double

    /// The lifetime in seconds. A passed test is valid for a week: known changes lead to another key, and unknown ones,
    /// such as firmware that cannot be read, are checked once a week. A failed test is valid for ten minutes: its cause
    /// may be temporary, such as a GPU reset, and a device that never works costs six test encodes an hour at most.
    package var lifetime: Double { isPassed ? 7 * 86400 : 600 }

    /// The time at which it expires.
    package var end: Double { time + lifetime }

    /// Whether it is valid; a record from the future is not.
    package func counts(at now: Double) -> Bool { now >= time - 1 && now < end }
}

/// The proofs in a ``SelectionState``.
struct ProofCache: Sendable {
    let state: SelectionState

    /// The subject of a proof: the device fingerprint and the class of a configuration or stream
    /// (``DeviceTest/subject``).
    struct Key: Sendable, Hashable {
        var device: DeviceFingerprint
        var subject: String

        fileprivate var text: String { "\(device.text)\nconfiguration \(subject)" }
        fileprivate var name: String { "proofs/\(Fingerprint.of(text))" }
    }

    /// Returns the valid proof; `nil` if there is none.
    func proof(_ key: Key, at now: Double) -> ProofRecord? {
        guard let record = state.record(key.name), record["key"] == key.text, let proof = ProofRecord(record),
            proof.counts(at: now)
        else { return nil }
        return proof
    }

    /// Stores a proof and removes expired ones.
    func keep(_ proof: ProofRecord, _ key: Key) {
        var record = proof.record
        record["key"] = key.text
        state.keep(record, as: key.name)
        for name in state.names("proofs") where name != key.name {
            // A file that is being written or locked is neither a proof nor expired.
            if let old = state.record(name).flatMap({ ProofRecord($0) }) {
                if !old.counts(at: proof.time) { state.forget(name) }
            } else if let folder = state.folder, let time = StateFile.changeTime("\(folder)/\(name)"),
                time < proof.time - 86400
            {
                state.forget(name)
            }
        }
    }

    func forget(_ key: Key) { state.forget(key.name) }

    /// Takes the lock under which a test runs, so that only one runs at a time and waiting processes find its result.
    func lock(_ key: Key, within patience: Duration) -> StateLock? { state.lock("\(key.name).lock", within: patience) }

    /// Returns all valid proofs, newest first.
    func all(at now: Double) -> [ProofRecord] {
        state.names("proofs").compactMap { state.record($0).flatMap { ProofRecord($0) } }
            .filter { $0.counts(at: now) }
            .sorted { $0.time > $1.time }
    }
}

extension ProofRecord {
    fileprivate init?(_ record: StateRecord) {
        guard record["kind"] == "proof", let verdict = record["verdict"],
            ["decoded", "parsed", "failed"].contains(verdict), let time = record["time"].flatMap(Double.init),
            let device = record["device"], let configuration = record["configuration"]
        else { return nil }
        self.init(
            isPassed: verdict != "failed",
            isDecoded: verdict == "decoded",
            stage: record["stage"],
            reason: record["reason"] ?? "",
            cause: record["cause"].map(MediaError.Cause.init(rawValue:)),
            driver: record["driver"] ?? "",
            device: device,
            configuration: configuration,
            time: time
        )
    }

    fileprivate var record: StateRecord {
        var record = StateRecord([
            "kind": "proof", "verdict": isPassed ? (isDecoded ? "decoded" : "parsed") : "failed", "reason": reason,
            "driver": driver, "device": device, "configuration": configuration, "time": "\(time)",
        ])
        record["stage"] = stage
        record["cause"] = cause?.rawValue
        return record
    }
}

/// The clock that all processes share.
enum WallClock {
    /// Seconds since 1970.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
package import MediaTypes

/// What came of a test encode, as it is remembered.
package struct ProofRecord: Sendable, Hashable {
    /// Whether it came out.
    package var isPassed: Bool
    /// Whether the pictures were decoded and compared, if it came out.
    package var isDecoded: Bool
    /// The stage that was not passed.
    package var stage: TestEncode.Stage?
    /// Why it was not passed, in words.
    package var reason: String
    /// What stands behind that, if it is anything but what came out.
    package var cause: MediaError.Cause?
    /// The driver's name for itself; empty if it did not come so far.
    package var driver: String
    /// The device, by its short name.
    package var device: String
    /// What was tried.
    package var configuration: String
    /// When, in seconds since 1970.
    package var time: Double

    /// A proof counts for a week: whatever is known to change it makes another key, and what is not, as firmware that nobody
    /// may read, is asked once a week. A refutation counts for ten minutes: its cause may pass, as that of a GPU which the
    /// kernel has to reset, and a device that never does costs six test encodes an hour at most.
    package var lifetime: Double { isPassed ? 7 * 86400 : 600 }

    /// Until when it counts.
    package var end: Double { time + lifetime }

    /// Whether it counts; what comes from a future does not.
    package func counts(at now: Double) -> Bool { now >= time - 1 && now < end }
}

/// The proofs of a ``SelectionState``.
struct ProofCache: Sendable {
    let state: SelectionState

    /// What a proof is about: the device with all that decides what it does, and the class of a configuration.
    struct Key: Sendable, Hashable {
        var device: DeviceFingerprint
        var configuration: ConfigurationClass

        fileprivate var text: String { "\(device.text)\nconfiguration \(configuration)" }
        fileprivate var name: String { "proofs/\(Fingerprint.of(text))" }
    }

    /// The proof that counts now; `nil` if there is none.
    func proof(_ key: Key, at now: Double) -> ProofRecord? {
        guard let record = state.record(key.name), record["key"] == key.text, let proof = ProofRecord(record),
            proof.counts(at: now)
        else { return nil }
        return proof
    }

    /// Remembers a proof, and forgets those that count no more.
    func keep(_ proof: ProofRecord, _ key: Key) {
        var record = proof.record
        record["key"] = key.text
        state.keep(record, as: key.name)
        for name in state.names("proofs") where name != key.name {
            // What is being written or locked at present is neither a proof nor old.
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

    /// Has the lock under which a proof is made, so that one is made at a time and who waits finds it made.
    func lock(_ key: Key, within patience: Duration) -> StateLock? { state.lock("\(key.name).lock", within: patience) }

    /// Everything that counts now, the newest first.
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
            stage: record["stage"].flatMap(TestEncode.Stage.init(rawValue:)),
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
        record["stage"] = stage?.rawValue
        record["cause"] = cause?.rawValue
        return record
    }
}

/// The time that processes share.
enum WallClock {
    /// Seconds since 1970.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

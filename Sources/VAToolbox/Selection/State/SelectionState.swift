// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import Synchronization

/// What is known of devices beyond a session, and who uses them: proofs of what they encode, failures, sessions in use.
///
/// It lies in a folder that all processes of a user share. Where none can be written, as on a read-only root, or locked,
/// as on some network file systems, it lies in the memory of this process; that is never an error. Files are replaced as a whole, and one that is damaged or belongs to
/// somebody else is as if it were not there. Locks end with the process that holds them, however it ends.
public final class SelectionState: Sendable {
    /// The variable that names the folder. It should be on a local file system.
    public static let environmentVariable = "VATOOLBOX_STATE"

    /// The state of this process's user: in the folder that ``environmentVariable`` names, else in `vatoolbox` in
    /// `XDG_CACHE_HOME`, else in `~/.cache`.
    public static let standard = SelectionState(folder: standardFolder)

    /// The folder; `nil` if everything is kept in memory.
    public let folder: String?

    private struct Memory {
        /// Records that could not be written, or are not to be.
        var records: [String: StateRecord] = [:]
        var locked: Set<String> = []
        var leases: [String: [Int: String]] = [:]
        /// Whether files can be made in the folder, and locked; `nil` until somebody wants to.
        var isWritable: Bool?
    }

    private let memory = Mutex(Memory())

    /// Keeps the state in a folder, which is made when it is first needed; `nil` for memory.
    public init(folder: String?) { self.folder = folder }

    /// Whether it is shared with other processes.
    public var isShared: Bool { isWritable }

    private var isWritable: Bool {
        if let known = memory.withLock({ $0.isWritable }) { return known }
        let isWritable =
            folder.map { folder in
                Self.kinds.allSatisfy { StateFile.makeFolder("\(folder)/\($0)") }
                    && StateFile.canBeLocked("\(folder)/sessions/.turn")
            } ?? false
        memory.withLock { $0.isWritable = isWritable }
        return isWritable
    }

    /// The folders in the folder.
    private static let kinds = ["proofs", "breakers", "sessions"]

    /// Where ``standard`` is; `nil` if nothing says where the user's files are.
    static var standardFolder: String? {
        folder { name in linux_environment(name).map { String(cString: $0) } }
    }

    static func folder(_ environment: (String) -> String?) -> String? {
        func path(_ name: String, _ rest: String) -> String? {
            environment(name).flatMap { $0.hasPrefix("/") ? $0 + rest : nil }
        }
        if let named = environment(environmentVariable), !named.isEmpty { return named }
        return path("XDG_CACHE_HOME", "/vatoolbox") ?? path("HOME", "/.cache/vatoolbox")
    }

    /// Forgets all proofs and failures. Sessions in use stay known.
    public func reset() {
        memory.withLock { $0.records = [:] }
        guard let folder else { return }
        for kind in ["proofs", "breakers"] {
            for name in StateFile.names("\(folder)/\(kind)") { unlink("\(folder)/\(kind)/\(name)") }
        }
    }

    // MARK: - Records

    /// The record of that name, a path within the folder; `nil` if there is none.
    func record(_ name: String) -> StateRecord? {
        if let kept = memory.withLock({ $0.records[name] }) { return kept }
        return folder.flatMap { StateFile.text("\($0)/\(name)") }.flatMap { StateRecord(text: $0) }
    }

    /// Keeps a record.
    func keep(_ record: StateRecord, as name: String) {
        let isKept = isWritable && folder.map { StateFile.replace("\($0)/\(name)", with: record.text) } == true
        memory.withLock { $0.records[name] = isKept ? nil : record }
    }

    /// Forgets a record.
    func forget(_ name: String) {
        memory.withLock { $0.records[name] = nil }
        if let folder { unlink("\(folder)/\(name)") }
    }

    /// The names of the records of a kind, which is a folder.
    func names(_ kind: String) -> [String] {
        let inMemory = memory.withLock { $0.records.keys.filter { $0.hasPrefix(kind + "/") } }
        let files = folder.map { StateFile.names("\($0)/\(kind)").map { "\(kind)/\($0)" } } ?? []
        return Set(inMemory + files).sorted()
    }

    // MARK: - Locks

    /// Tries to take the lock of that name, which nobody else in any process has then.
    func tryLock(_ name: String) -> StateLock? {
        if isWritable, let folder, let descriptor = StateFile.openForLocks("\(folder)/\(name)") {
            if StateFile.lock(descriptor, byte: 0) { return StateLock { close(descriptor) } }
            close(descriptor)
            return nil
        }
        guard memory.withLock({ $0.locked.insert(name).inserted }) else { return nil }
        return StateLock { [self] in memory.withLock { _ = $0.locked.remove(name) } }
    }

    /// Whether somebody has the lock of that name.
    func isLocked(_ name: String) -> Bool {
        guard isWritable, let folder else { return memory.withLock { $0.locked.contains(name) } }
        guard let descriptor = StateFile.openForLocks("\(folder)/\(name)", creates: false) else { return false }
        defer { close(descriptor) }
        return StateFile.isLocked(descriptor, byte: 0)
    }

    /// Takes the lock of that name as soon as it is free. Blocks, at most so long; `nil` then.
    func lock(_ name: String, within patience: Duration) -> StateLock? {
        let end = ContinuousClock.now + patience
        while true {
            if let lock = tryLock(name) { return lock }
            if ContinuousClock.now >= end { return nil }
            usleep(5_000)
        }
    }

    /// Changes a record that others may change as well, one after the other.
    ///
    /// - Parameter change: Makes the new record of the old one; `nil` for none.
    func update(_ name: String, _ change: (StateRecord?) -> StateRecord?) {
        // Whoever holds the lock for as long as this is stopped: a lost update is better than a session that waits.
        let lock = lock(name + ".lock", within: .seconds(2))
        defer { lock?.release() }
        let old = record(name)
        let new = change(old)
        if new == old { return }
        if let new { keep(new, as: name) } else { forget(name) }
    }

    // MARK: - Places in use

    /// How many places a device has at most.
    static let places = 1024
    /// The bytes that a place has in the file for what it is used for.
    private static let placeSize = 128
    /// The byte whose lock lets somebody look for a place.
    private static let turnstile = 1 << 30

    /// The places that are in use, with what was said of each.
    func places(_ name: String) -> [(number: Int, text: String)] {
        guard isWritable, let folder else {
            return memory.withLock { ($0.leases[name] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
        }
        guard let descriptor = StateFile.openForLocks("\(folder)/\(name)", creates: false) else { return [] }
        defer { close(descriptor) }
        return Self.placesInUse(descriptor)
    }

    /// Takes a place. It is given back by releasing the lock, and with the end of this process.
    ///
    /// - Parameters:
    ///   - limit: How many there are.
    ///   - text: What to say of it, at most 127 bytes.
    /// - Returns: `nil` if all are in use.
    func takePlace(_ name: String, of limit: Int, _ text: String) -> StateLock? {
        if isWritable, let folder, let descriptor = StateFile.openForLocks("\(folder)/\(name)") {
            if Self.takePlace(descriptor, of: limit, text) { return StateLock { close(descriptor) } }
            close(descriptor)
            return nil
        }
        let number = memory.withLock { memory -> Int? in
            let used = memory.leases[name] ?? [:]
            guard used.count < limit, let free = (0..<Self.places).first(where: { used[$0] == nil }) else { return nil }
            memory.leases[name, default: [:]][free] = text
            return free
        }
        guard let number else { return nil }
        return StateLock { [self] in memory.withLock { $0.leases[name]?[number] = nil } }
    }

    private static func placesInUse(_ descriptor: Int32) -> [(number: Int, text: String)] {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return [] }
        let known = min(places, (Int(status.st_size) + placeSize - 1) / placeSize)
        return (0..<known).compactMap { number in
            guard StateFile.isLocked(descriptor, byte: number) else { return nil }
            var bytes = [UInt8](repeating: 0, count: placeSize)
            let count = pread(descriptor, &bytes, placeSize, off_t(number * placeSize))
            let text = bytes.prefix(max(count, 0)).prefix { $0 != 0 && $0 != 0x0A }
            return (number, String(decoding: text, as: UTF8.self))
        }
    }

    private static func takePlace(_ descriptor: Int32, of limit: Int, _ text: String) -> Bool {
        let end = ContinuousClock.now + .seconds(2)
        // Without its turn it may take one place too many, never one that is taken.
        while !StateFile.lock(descriptor, byte: turnstile), ContinuousClock.now < end { usleep(2_000) }
        defer { StateFile.unlock(descriptor, byte: turnstile) }
        let used = placesInUse(descriptor)
        guard used.count < limit else { return false }
        let taken = Set(used.map(\.number))
        for number in 0..<places where !taken.contains(number) {
            guard StateFile.lock(descriptor, byte: number) else { continue }
            var bytes = Array(text.utf8.prefix(placeSize - 1))
            bytes += [UInt8](repeating: 0x20, count: placeSize - 1 - bytes.count) + [0x0A]
            _ = pwrite(descriptor, bytes, bytes.count, off_t(number * placeSize))
            return true
        }
        return false
    }
}

/// Something that is held until it is released, or until nobody keeps it any more.
final class StateLock: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    init(_ end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    deinit { release() }

    /// Gives it back. Once is enough.
    func release() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}

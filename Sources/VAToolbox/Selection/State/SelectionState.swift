// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import Synchronization

/// Device information that outlives a session, and the active sessions: results of test encodes, failures, sessions.
///
/// It is stored in a folder that all processes of a user share. If the folder cannot be written to, as on a read-only
/// root, or files cannot be locked, as on some network file systems, it is kept in the memory of this process. This is
/// never an error. Files are replaced atomically. A file that is damaged or belongs to another user is treated as
/// missing. Locks end with the process that holds them, even if it crashes.
public final class SelectionState: Sendable {
    /// The environment variable that names the folder. The folder should be on a local file system.
    public static let environmentVariable = "VATOOLBOX_STATE"

    /// The state of the user of this process, in the folder that ``environmentVariable`` names, otherwise in
    /// `vatoolbox` in `XDG_CACHE_HOME`, otherwise in `vatoolbox` in `~/.cache`.
    public static let standard = SelectionState(folder: standardFolder)

    /// The folder; `nil` if everything is kept in memory.
    public let folder: String?

    private struct Memory {
        /// Records that could not be written to files, or must not be.
        var records: [String: StateRecord] = [:]
        var locked: Set<String> = []
        var leases: [String: [Int: String]] = [:]
        /// Whether files can be created and locked in the folder; `nil` until this is first needed.
        var isWritable: Bool?
    }

    private let memory = Mutex(Memory())

    /// Creates a state in a folder, which is created when it is first needed; `nil` keeps the state in memory.
    public init(folder: String?) { self.folder = folder }

    /// Whether the state is shared with other processes.
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

    /// The names of the subfolders.
    private static let kinds = ["proofs", "breakers", "sessions"]

    /// The folder of ``standard``; `nil` if the environment names no home or cache folder.
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

    /// Removes all results of test encodes and all failures. Active sessions stay registered.
    public func reset() {
        memory.withLock { $0.records = [:] }
        guard let folder else { return }
        for kind in ["proofs", "breakers"] {
            for name in StateFile.names("\(folder)/\(kind)") { unlink("\(folder)/\(kind)/\(name)") }
        }
    }

    // MARK: - Records

    /// Returns the record of a name, which is a path within the folder; `nil` if there is none.
    func record(_ name: String) -> StateRecord? {
        if let kept = memory.withLock({ $0.records[name] }) { return kept }
        return folder.flatMap { StateFile.text("\($0)/\(name)") }.flatMap { StateRecord(text: $0) }
    }

    /// Stores a record.
    func keep(_ record: StateRecord, as name: String) {
        let isKept = isWritable && folder.map { StateFile.replace("\($0)/\(name)", with: record.text) } == true
        memory.withLock { $0.records[name] = isKept ? nil : record }
    }

    /// Removes a record.
    func forget(_ name: String) {
        memory.withLock { $0.records[name] = nil }
        if let folder { unlink("\(folder)/\(name)") }
    }

    /// Returns the names of the records of a kind, which is a subfolder.
    func names(_ kind: String) -> [String] {
        let inMemory = memory.withLock { $0.records.keys.filter { $0.hasPrefix(kind + "/") } }
        let files = folder.map { StateFile.names("\($0)/\(kind)").map { "\(kind)/\($0)" } } ?? []
        return Set(inMemory + files).sorted()
    }

    // MARK: - Locks

    /// Tries to take the lock of a name, which has one owner at a time in all processes.
    func tryLock(_ name: String) -> StateLock? {
        if isWritable, let folder, let descriptor = StateFile.openForLocks("\(folder)/\(name)") {
            if StateFile.lock(descriptor, byte: 0) { return StateLock { close(descriptor) } }
            close(descriptor)
            return nil
        }
        guard memory.withLock({ $0.locked.insert(name).inserted }) else { return nil }
        return StateLock { [self] in memory.withLock { _ = $0.locked.remove(name) } }
    }

    /// Whether the lock of a name is taken.
    func isLocked(_ name: String) -> Bool {
        guard isWritable, let folder else { return memory.withLock { $0.locked.contains(name) } }
        guard let descriptor = StateFile.openForLocks("\(folder)/\(name)", creates: false) else { return false }
        defer { close(descriptor) }
        return StateFile.isLocked(descriptor, byte: 0)
    }

    /// Takes the lock of a name as soon as it is free. Blocks for at most `patience` and then returns `nil`.
    func lock(_ name: String, within patience: Duration) -> StateLock? {
        let end = ContinuousClock.now + patience
        while true {
            if let lock = tryLock(name) { return lock }
            if ContinuousClock.now >= end { return nil }
            usleep(5_000)
        }
    }

    /// Changes a record that others may also change, one at a time.
    ///
    /// - Parameter change: Returns the new record from the old one; `nil` means no record.
    func update(_ name: String, _ change: (StateRecord?) -> StateRecord?) {
        // A process that holds the lock for this long is stopped. Losing its update is better than making a session
        // wait.
        let lock = lock(name + ".lock", within: .seconds(2))
        defer { lock?.release() }
        let old = record(name)
        let new = change(old)
        if new == old { return }
        if let new { keep(new, as: name) } else { forget(name) }
    }

    // MARK: - Places in use

    /// The maximum number of places on a device.
    static let places = 1024
    /// The size in bytes of a place's entry in the file, which describes its use.
    private static let placeSize = 128
    /// The byte whose lock serializes the search for a place.
    private static let turnstile = 1 << 30

    /// Returns the places in use with their descriptions.
    func places(_ name: String) -> [(number: Int, text: String)] {
        guard isWritable, let folder else {
            return memory.withLock { ($0.leases[name] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
        }
        guard let descriptor = StateFile.openForLocks("\(folder)/\(name)", creates: false) else { return [] }
        defer { close(descriptor) }
        return Self.placesInUse(descriptor)
    }

    /// Takes a place. It is released with the lock, or when this process ends.
    ///
    /// - Parameters:
    ///   - limit: The number of places.
    ///   - text: The description of the use, at most 127 bytes.
    /// - Returns: `nil` if all places are in use.
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
        // Without the turnstile, one place too many may be taken, but never one that is in use.
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

/// A lock that is held until it is released or its last reference is gone.
final class StateLock: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    init(_ end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    deinit { release() }

    /// Releases the lock. Further calls do nothing.
    func release() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}

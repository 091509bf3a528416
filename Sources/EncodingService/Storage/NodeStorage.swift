// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import JobStore
internal import Logging

/// The folder and the job store of a node, and the locks that say which process it is.
struct NodeStorage: Sendable {
    let data: DataFolder
    let store: any JobStore
    /// Whether the store has gone back to its backup. Then it does not know all jobs whose results are there.
    let isRestored: Bool
    /// Whether this node serves the API: then what clients have made is its own, and no other process writes it.
    let servesAPI: Bool
    private let locks: [FolderLock]

    /// Opens them.
    ///
    /// - Throws: `SettingsError` if another process has the name of this node, or serves the API; `FileError`;
    ///   `StoreError`.
    init(_ settings: ServiceSettings, servesAPI: Bool, logger: Logger) async throws {
        let isShared = !settings.storeLocation.isEmpty
        self.servesAPI = servesAPI
        data = try DataFolder(path: settings.data, node: settings.node, isShared: isShared)
        var locks: [FolderLock] = []
        if isShared {
            let allowed = "another name, as store.node, for each process that works on the same store"
            locks.append(try FolderLock(data.nodeLock, holder: "the node \(settings.node)", allowed: allowed))
            if servesAPI { locks.append(try Self.lockAPI(data)) }
            let store = try await PostgreSQLJobStore(location: settings.storeLocation)
            try await Self.expectSharedFolder(data, store)
            self.store = store
            isRestored = false
        } else {
            let store = try SQLiteJobStore(path: data.jobStore)
            self.store = store
            isRestored = store.repair != nil
            if let repair = store.repair { Self.tell(of: repair, logger) }
            if servesAPI { locks.append(try Self.lockAPI(data)) }
        }
        self.locks = locks
        if servesAPI { try data.removeUnfinished() }
    }

    /// Makes sure that the folder is that of the other nodes: a folder that is not mounted looks like a new one, and what is
    /// published there is found by nobody.
    private static func expectSharedFolder(_ data: DataFolder, _ store: PostgreSQLJobStore) async throws {
        // Nodes that start together on a new folder have one number: that of the first one.
        try Files.create(data.identity, with: Array("\(Int64.random(in: 1...Int64.max))".utf8))
        let text = String(decoding: try Files.read(data.identity) ?? [], as: UTF8.self)
        guard let number = Int64(text) else {
            throw SettingsError("the number of the folder is damaged", given: data.identity, allowed: "a number")
        }
        guard try await store.agreeOnFolder(number) == number else {
            throw SettingsError(
                "the folder is not the one in which the other nodes of the job store work",
                given: data.path,
                allowed: "the folder that all nodes share, as data; is it mounted?"
            )
        }
    }

    private static func lockAPI(_ data: DataFolder) throws -> FolderLock {
        let allowed = "one `vatoolbox serve` on a folder, and `vatoolbox worker` on all other machines"
        return try FolderLock(data.apiLock, holder: "serving the API", allowed: allowed)
    }

    private static func tell(of repair: SQLiteJobStore.Repair, _ logger: Logger) {
        logger.error(
            "the job store was damaged, and has gone back to its last backup: jobs that were submitted since are lost",
            metadata: [
                "damage": "\(repair.damage)", "damaged": "\(repair.damagedPath ?? "missing")",
                "backup": "\(repair.backupPath)",
            ]
        )
    }
}

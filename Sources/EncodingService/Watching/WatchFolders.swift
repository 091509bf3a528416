// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import Logging
internal import ServiceAPI
internal import ServiceLifecycle

/// The watched folders: reads them again and again, and submits a job for each file that has settled. Folders are read rather
/// than watched by the kernel, which does not see what other machines do on a network file system.
actor WatchFolders: Service {
    private struct Entry {
        var settings: WatchRequest
        var createdAt: Double
        var memory = WatchMemory()
        var submitted = 0
        var lastScan: Double?
        var problem: String?
    }

    private let folder: String
    private let inputs: InputResolver
    private let submission: JobSubmission
    private let interval: Double
    private let changes: ChangeSignal
    private let logger: Logger
    private var entries: [String: Entry] = [:]

    /// The jobs that are submitted from one folder before others get their turn.
    private static let mostAtOnce = 100

    /// Reads what was stored.
    ///
    /// - Parameters:
    ///   - folder: Where the settings are, and what became of files.
    ///   - interval: The pause between two readings, in seconds.
    init(
        folder: String,
        inputs: InputResolver,
        submission: JobSubmission,
        interval: Double,
        changes: ChangeSignal,
        logger: Logger
    ) throws {
        self.folder = folder
        self.inputs = inputs
        self.submission = submission
        self.interval = interval
        self.changes = changes
        self.logger = logger
        for file in try Files.names(in: folder) where file.hasSuffix(".json") {
            guard let bytes = try Files.read("\(folder)/\(file)", atMost: 1 << 30) else { continue }
            let value = try JSONValue(parsing: bytes)
            entries[String(file.dropLast(5))] = Entry(
                settings: try WatchRequest.decode(json: value["settings"] ?? .null),
                createdAt: value["createdAt"]?.double ?? 0,
                memory: WatchMemory(json: value["done"] ?? .null),
                submitted: value["submitted"]?.integer.map { Int($0) } ?? 0
            )
        }
    }

    // MARK: Settings

    /// All, by name.
    func list() -> [Watch] { entries.keys.sorted().compactMap { try? find($0) } }

    /// Returns a watched folder.
    ///
    /// - Throws: `APIError` `not-found`.
    func find(_ name: String) throws -> Watch {
        guard let entry = entries[name] else { throw Self.missing(name) }
        return Watch {
            $0.name = name
            $0.settings = entry.settings
            $0.createdAt = Timestamp(seconds: entry.createdAt)
            $0.submitted = entry.submitted
            $0.settling = entry.memory.settlingCount
            $0.lastScan = entry.lastScan.map(Timestamp.init(seconds:))
            $0.problem = entry.problem
        }
    }

    /// Watches a folder, or changes how. What became of files is not forgotten.
    ///
    /// - Returns: The folder, and whether it is new.
    /// - Throws: `APIError` if the folder, the preset or the settings of the job are not there or not allowed.
    func set(_ name: String, _ settings: WatchRequest) async throws -> (Watch, isNew: Bool) {
        _ = try await submission.resolve(settings.job)
        let path = settings.job.input.path ?? ""
        _ = try await FileWork.run { [inputs] in try inputs.mediaFolder(path) }
        let isNew = entries[name] == nil
        var entry = entries[name] ?? Entry(settings: settings, createdAt: Clock.now)
        entry.settings = settings
        entry.problem = nil
        try await save(name, entry)
        entries[name] = entry
        return (try find(name), isNew)
    }

    /// Ends the watching. Jobs go on.
    ///
    /// - Throws: `APIError` `not-found`.
    func delete(_ name: String) async throws {
        guard entries[name] != nil else { throw Self.missing(name) }
        let path = file(name)
        try await FileWork.run { try Files.remove(path) }
        entries[name] = nil
    }

    private static func missing(_ name: String) -> APIError {
        APIError(.notFound, "There is no such watched folder", field: "name", value: .string(name))
    }

    private func file(_ name: String) -> String { "\(folder)/\(name).json" }

    private func save(_ name: String, _ entry: Entry) async throws {
        let value: JSONObject = [
            "settings": entry.settings.json, "createdAt": .number(entry.createdAt),
            "submitted": .integer(Int64(entry.submitted)), "done": entry.memory.json,
        ]
        let (path, bytes) = (file(name), JSONValue.object(value).bytes)
        try await FileWork.run { try Files.replace(path, with: bytes) }
    }

    // MARK: Work

    func run() async throws {
        for await _ in ChangeSignal().changes(orEvery: .seconds(interval)).cancelOnGracefulShutdown() {
            for name in entries.keys.sorted() { await scan(name) }
        }
    }

    private func scan(_ name: String) async {
        guard let settings = entries[name]?.settings, !settings.paused else { return }
        do {
            let path = settings.job.input.path ?? ""
            let files = try await FileWork.run { [inputs] in
                try FolderScan.files(in: inputs.mediaFolder(path), recursive: settings.recursive)
            }
            // It may have been deleted or changed meanwhile.
            guard entries[name]?.settings == settings else { return }
            let ready = entries[name]?.memory.observe(
                files,
                at: Clock.monotonic,
                date: Clock.now,
                settle: settings.settle
            )
            entries[name]?.lastScan = Clock.now
            if let ready, !ready.isEmpty { try await submit(ready.prefix(Self.mostAtOnce), of: name, settings) }
            note(nil, of: name)
        } catch {
            note((error as? APIError)?.description ?? "\(error)", of: name)
        }
    }

    private func submit(_ files: ArraySlice<WatchedFile>, of name: String, _ settings: WatchRequest) async throws {
        var failure: (any Error)?
        for file in files {
            do {
                let id = try await submission.submit(
                    Self.request(settings.job, for: file, of: name),
                    key: Self.key(file, of: name)
                )
                .id
                logger.info("a file becomes a job", metadata: ["watch": "\(name)", "job": "\(id)"])
            } catch let error as StoreError where error.code == .idempotencyConflict {
                // It became a job with other settings, before the memory of it was lost.
            } catch {
                failure = error
                break
            }
            guard entries[name] != nil else { return }
            entries[name]?.memory.finish(file, date: Clock.now)
            entries[name]?.submitted += 1
        }
        // A crash before this forgets nothing: the keys of the jobs are kept with them.
        if let entry = entries[name] { try await save(name, entry) }
        changes.send()
        if let failure { throw failure }
    }

    /// The job of a file.
    static func request(_ template: JobRequest, for file: WatchedFile, of name: String) -> JobRequest {
        var request = template
        request.input.path = "\(template.input.path ?? "")/\(file.path)"
        request.labels["watch"] = name
        // Results of different files have the same names.
        let folder = file.path.lastIndex(of: ".").map { String(file.path[..<$0]) } ?? file.path
        if let path = template.destination?.path { request.destination?.path = "\(path)/\(folder)" }
        if let s3 = template.destination?.s3 { request.destination?.s3?.prefix = s3.key(of: folder) }
        return request
    }

    private static func key(_ file: WatchedFile, of name: String) -> String {
        Digest.sha256("watch/\(name)/\(file.path)/\(file.identity)".utf8)
    }

    /// Tells a problem once, and that it is over.
    private func note(_ problem: String?, of name: String) {
        guard let before = entries[name], before.problem != problem else { return }
        entries[name]?.problem = problem
        if let problem {
            logger.error("a watched folder makes no jobs", metadata: ["watch": "\(name)", "problem": "\(problem)"])
        } else {
            logger.notice("a watched folder makes jobs again", metadata: ["watch": "\(name)"])
        }
    }
}

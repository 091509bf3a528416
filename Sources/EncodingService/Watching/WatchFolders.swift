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
        /// When it was written to the disk, in seconds since 1970.
        var savedAt = 0.0
    }

    private let folder: String
    private let inputs: InputResolver
    private let submission: JobSubmission
    private let interval: Double
    private let changes: ChangeSignal
    /// Tells that there is a folder to look at before the interval is over.
    private let wake = ChangeSignal()
    private let logger: Logger
    private var entries: [String: Entry] = [:]
    /// The last of the writes to the disk, which come one after the other.
    private var lastWrite: Task<Void, any Error>?

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
            do {
                let value = try JSONValue(parsing: bytes)
                entries[String(file.dropLast(5))] = Entry(
                    settings: try WatchRequest.decode(json: value["settings"] ?? .null, mode: .response),
                    createdAt: value["createdAt"]?.double ?? 0,
                    memory: WatchMemory(json: value["done"] ?? .null),
                    submitted: value["submitted"]?.integer.map { Int($0) } ?? 0,
                    savedAt: Clock.now
                )
            } catch {
                logger.error(
                    "a watched folder cannot be read from its file, and is not watched",
                    metadata: ["file": "\(folder)/\(file)", "error": "\(error)"]
                )
            }
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
        // What is added for a file must be allowed, too.
        _ = try Self.request(settings.job, for: WatchedFile(path: "film.mp4", size: 1, modified: 0), of: name)
        let others = entries.filter { $0.key != name }.mapValues(\.settings)
        try await FileWork.run { [inputs] in try Self.checkLoops(settings, others, inputs) }
        let former = entries[name]
        if former == nil { entries[name] = Entry(settings: settings, createdAt: Clock.now) }
        entries[name]?.settings = settings
        entries[name]?.problem = nil
        do {
            try await save(name)
        } catch {
            // What is not on the disk does not count.
            if let former { entries[name]?.settings = former.settings } else { entries[name] = nil }
            throw error
        }
        wake.send()
        return (try find(name), former == nil)
    }

    /// Ends the watching. Jobs go on.
    ///
    /// - Throws: `APIError` `not-found`.
    func delete(_ name: String) async throws {
        guard let entry = entries.removeValue(forKey: name) else { throw Self.missing(name) }
        do { try await save(name) } catch {
            if entries[name] == nil { entries[name] = entry }
            throw error
        }
    }

    /// Refuses a folder whose results would appear in it, also by way of other watched folders.
    private static func checkLoops(
        _ settings: WatchRequest,
        _ others: [String: WatchRequest],
        _ inputs: InputResolver
    ) throws {
        let folder = try inputs.mediaFolder(settings.job.input.path ?? "")
        guard let destination = settings.job.destination?.path else { return }
        let links = others.values.compactMap { other -> WatchLoops.Link? in
            guard let folder = try? inputs.mediaFolder(other.job.input.path ?? ""),
                let destination = other.job.destination?.path
            else { return nil }
            return .init(folder: folder, isRecursive: other.recursive, destination: inputs.likelyPath(destination))
        }
        let link = WatchLoops.Link(
            folder: folder,
            isRecursive: settings.recursive,
            destination: inputs.likelyPath(destination)
        )
        guard !WatchLoops.hasLoop(link, links) else {
            throw APIError(
                .invalidRequest,
                "The results would appear in the watched folder, and become jobs again",
                field: "/job/destination/path",
                value: .string(destination),
                allowed: "a folder that is not watched"
            )
        }
    }

    private static func missing(_ name: String) -> APIError {
        APIError(.notFound, "There is no such watched folder", field: "name", value: .string(name))
    }

    private func file(_ name: String) -> String { "\(folder)/\(name).json" }

    /// Writes the present state of a folder to the disk, or removes what is there of one that was deleted.
    private func save(_ name: String) async throws {
        let before = lastWrite
        let write = Task {
            _ = await before?.result
            try await self.writeNow(name)
        }
        lastWrite = write
        try await write.value
    }

    private func writeNow(_ name: String) async throws {
        let path = file(name)
        entries[name]?.savedAt = Clock.now
        guard let entry = entries[name] else {
            try await FileWork.run { try Files.remove(path) }
            return
        }
        let value: JSONObject = [
            "settings": entry.settings.json, "createdAt": .number(entry.createdAt),
            "submitted": .integer(Int64(entry.submitted)), "done": entry.memory.json,
        ]
        let bytes = JSONValue.object(value).bytes
        try await FileWork.run { try Files.replace(path, with: bytes) }
    }

    // MARK: Work

    func run() async throws {
        for await _ in wake.changes(orEvery: .seconds(interval)).cancelOnGracefulShutdown() {
            for name in entries.keys.sorted() { await scan(name) }
        }
    }

    private func scan(_ name: String) async {
        guard let settings = entries[name]?.settings, !settings.paused else { return }
        do {
            let path = settings.job.input.path ?? ""
            let scan = try await WaitingThreads.mediaRoots.run { [inputs] in
                try FolderScan(of: inputs.mediaFolder(path), recursive: settings.recursive)
            }
            // It may have been deleted or changed meanwhile.
            guard entries[name]?.settings == settings else { return }
            let ready = entries[name]?.memory.observe(
                scan.files,
                at: Clock.monotonic,
                date: Clock.now,
                settle: settings.settle
            )
            entries[name]?.lastScan = Clock.now
            let failure = try await submit((ready ?? []).prefix(Self.mostAtOnce), of: name, settings)
            if let entry = entries[name], Clock.now - entry.savedAt > Self.saveInterval { try await save(name) }
            note(failure ?? scan.problem, of: name)
        } catch {
            note(Self.text(error), of: name)
        }
    }

    /// How often it is written when files were seen last, in seconds.
    private static let saveInterval = 86_400.0

    private static func text(_ error: any Error) -> String { (error as? APIError)?.description ?? "\(error)" }

    /// Submits a job for each file.
    ///
    /// - Returns: Why the first one of those that are refused is. The others become jobs nevertheless.
    /// - Throws: What keeps all of them from becoming jobs.
    private func submit(
        _ files: ArraySlice<WatchedFile>,
        of name: String,
        _ settings: WatchRequest
    ) async throws -> String? {
        if files.isEmpty { return nil }
        var (refusal, failure): (String?, (any Error)?) = (nil, nil)
        for file in files {
            do {
                let request = try Self.request(settings.job, for: file, of: name)
                let id = try await submission.submit(request, key: Self.key(file, of: name)).id
                logger.info("a file becomes a job", metadata: ["watch": "\(name)", "job": "\(id)"])
            } catch let error as StoreError where error.code == .idempotencyConflict {
                // It became a job with other settings, before the memory of it was lost.
            } catch let error as APIError where error.code != .rateLimited {
                refusal = refusal ?? "\(file.path): \(error)"
                continue
            } catch {
                failure = error
                break
            }
            guard entries[name] != nil else { return nil }
            entries[name]?.memory.finish(file, date: Clock.now)
            entries[name]?.submitted += 1
        }
        // A crash before this forgets nothing: the keys of the jobs are kept with them.
        try await save(name)
        changes.send()
        if let failure { throw failure }
        return refusal
    }

    /// The job of a file.
    ///
    /// - Throws: `APIError` if it is not allowed, because of what is added.
    static func request(
        _ template: JobRequest,
        for file: WatchedFile,
        of name: String
    ) throws(APIError) -> JobRequest {
        var request = template
        request.input.path = "\(template.input.path ?? "")/\(file.path)"
        request.labels["watch"] = name
        // Results of different files have the same names.
        if let path = template.destination?.path { request.destination?.path = "\(path)/\(file.path)" }
        if let s3 = template.destination?.s3 { request.destination?.s3?.prefix = s3.key(of: file.path) }
        return try JobRequest.decode(json: request.jsonBytes)
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

// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import Logging
internal import MediaTypes
internal import ServiceAPI

/// What a worker's process is to do.
struct WorkerCommand: Sendable, Hashable {
    /// The arguments of the program `vatoolbox`.
    var arguments: [String]
    /// Files and folders that it may read.
    var readable: [String] = []
    /// Folders that it may write.
    var writable: [String] = []
    /// Whether it reads a file of strangers, to which the limits of inputs apply.
    var readsInput = false
    /// Whether it tells its progress; one that does not advance is ended.
    var tellsProgress = true
    /// The seconds without progress after which it is ended; `nil` for those of the settings.
    var stallTimeout: Double?
    /// The seconds after which it is ended.
    var timeLimit: Double?
    /// Where it reads and writes its media, if not in files. Its document comes by standard error then.
    var streams: Streams?

    /// Whether it needs a program that measures VMAF.
    var measuresVMAF: Bool { arguments.contains { $0.hasPrefix("--target=\(QualityMetric.vmaf.rawValue):") } }

    /// Descriptors of the caller, which keeps them.
    struct Streams: Sendable, Hashable {
        var input: Int32
        var output: Int32
    }
}

/// Runs the processes of workers.
protocol CommandRunning: Sendable {
    /// Runs a command to its end. If the calling task is cancelled, the process is ended, with all that it has started.
    ///
    func run(
        _ command: WorkerCommand,
        onProgress: @escaping @Sendable (CommandProgress) -> Void,
        onLogLine: @escaping @Sendable (String) -> Void
    ) async throws -> CommandResult
}

/// How a command has ended.
struct CommandResult: Sendable, Hashable {
    var exit: CommandExit
    /// What it has printed.
    var document: [UInt8]
    /// The last lines of its standard error.
    var lastLines: [String] = []

    /// The document, if it is one.
    var json: JSONValue? { try? JSONValue(parsing: document) }
}

/// Does one attempt at a task: from the claim to the published result.
struct TaskRunner: Sendable {
    let store: any JobStore
    let data: DataFolder
    let inputs: InputResolver
    let deliverer: Deliverer
    let commands: any CommandRunning
    let progress: LiveProgress
    let changes: ChangeSignal
    let attempts: AttemptCounter
    let capacity: CapacityMonitor
    /// The version of the programs.
    let version: String
    let logger: Logger

    /// What the node is to know of the end of an attempt.
    enum Outcome: Sendable, Hashable {
        case ended
        /// The disk was full.
        case lackedSpace
    }

    /// Does an attempt. It is completed, failed or released when this returns, unless this was cancelled while the store is
    /// away: then its lease ends.
    func run(_ claim: Claim) async -> Outcome {
        let token = claim.token
        var logger = logger
        logger[metadataKey: "job"] = "\(claim.task.job)"
        logger[metadataKey: "attempt"] = "\(token.rawValue)"
        logger.info("attempt begins", metadata: ["task": "\(claim.task.index)", "number": "\(claim.number)"])
        defer {
            progress.remove(token)
            changes.send()
        }
        let end = await attempt(claim, logger)
        // First the files: whoever sees the end of the attempt sees none of them.
        try? await FileWork.run { [data] in try Files.remove(data.work(token)) }
        try? await FileWork.run { [data] in try Files.remove(data.spool(token)) }
        switch end {
        case .published: attempts.add("succeeded")
        case .failed(let failure) where failure.code == Self.lackOfSpace:
            attempts.add("released")
            // Not the fault of the job, which waits for space, unless it has done so too often: it may need more than
            // there is.
            if claim.number > Self.mostShortages {
                await fail(claim, failure, logger)
            } else {
                await release(claim, logger)
            }
            return .lackedSpace
        case .failed(let failure):
            attempts.add("failed")
            await fail(claim, failure, logger)
        case .cancelled:
            attempts.add("released")
            await release(claim, logger)
        case .refused(let error):
            attempts.add("lost")
            await settle(claim, error, logger)
        }
        return .ended
    }

    private static let lackOfSpace = "insufficient-storage"
    /// The number of attempts after which a job fails that finds the disk full.
    private static let mostShortages = 20

    /// How an attempt has ended, which the store is to be told unless the result is published.
    private enum End {
        case published
        case failed(Failure)
        case cancelled
        case refused(StoreError)
    }

    private func attempt(_ claim: Claim, _ logger: Logger) async -> End {
        do {
            if let published = try await FileWork.run({ [data] in try Publication.published(claim.task, in: data) }) {
                // The store has gone back to its backup, which does not know that this was done.
                try await complete(claim, result: published.result, logger) {}
                logger.notice("the result was there", metadata: ["by": "\(published.token.rawValue)"])
            } else if claim.draft.kind == JobPlanner.deliveryKind {
                try await deliver(claim, logger)
            } else if claim.draft.kind == JobPlanner.partKind {
                try await encodePart(claim, logger)
            } else {
                try await work(claim, logger)
            }
            return .published
        } catch let error as StoreError {
            return .refused(error)
        } catch let failure as TaskFailure {
            return .failed(failure.failure)
        } catch {
            return Task.isCancelled ? .cancelled : .failed(Self.failure(of: error))
        }
    }

    private func work(_ claim: Claim, _ logger: Logger) async throws {
        let token = claim.token
        let request = try JobRequest.decode(json: Array(claim.request.utf8))
        let outputs = JobPlanner.outputs(ofPayload: claim.draft.payload)
        let folder = data.work(token)
        try await FileWork.run { try Files.makeFolder(folder) }
        let log = try JobLog(path: data.log(claim.task.job))
        let document = try await encode(claim, request, into: folder, log)
        let files = try await FileWork.run { try ResultFiles.describe(folder) }
        if let failure = JobPlanner.shortcoming(of: request, outputs: outputs, files: files.map(\.path), document) {
            throw TaskFailure(failure)
        }
        try await check(outputs, of: request, files, document, in: folder)
        let text = TaskResult(files: files, document: document).text
        try await FileWork.run { [data] in try Publication.prepare(token, result: text, in: data) }
        try await complete(claim, result: text, logger) { [data] in
            try Publication.publish(token, as: claim.task, in: data)
        }
        log.add("attempt \(token.rawValue): published \(files.count) files")
        logger.info("attempt has succeeded", metadata: ["files": "\(files.count)"])
    }

    /// Runs the command of an attempt to its end.
    ///
    /// - Parameter folder: The folder of its outputs.
    /// - Returns: What it has printed, with the names that clients use in the place of paths of this machine.
    /// - Throws: `TaskFailure` if the command has failed.
    func encode(
        _ claim: Claim,
        _ request: JobRequest,
        into folder: String,
        _ log: JobLog
    ) async throws -> JSONValue {
        let token = claim.token
        let outputs = JobPlanner.outputs(ofPayload: claim.draft.payload)
        let begin = Clock.monotonic
        let input = try await input(of: request, claim, log)
        let chunks = try await chunks(of: claim, request, outputs)
        let command = WorkerCommand(
            arguments: JobPlanner.arguments(
                of: request,
                outputs: outputs,
                input: input,
                folder: folder,
                chunks: chunks,
                devices: await capacity.devices(after: claim.lastFailure)
            ),
            readable: [input],
            writable: [folder] + (chunks == nil ? [] : [data.chunks(claim.task.job)]),
            readsInput: true,
            timeLimit: request.timeLimit.map { max($0 - (Clock.monotonic - begin), 1) }
        )
        log.add("attempt \(token.rawValue): vatoolbox \(command.arguments.map(Self.shellWord).joined(separator: " "))")
        var texts = [(folder + "/", ""), (input, request.input.source?.publicText ?? "input")]
        if let chunks { texts.append((chunks.folder, "chunks")) }
        let meter = ProgressMeter()
        let ended = try await commands.run(command) { [progress, changes] told in
            if let value = meter.add(told, at: Clock.monotonic, date: Clock.now) {
                progress.set(token, of: claim.task, value)
                changes.send()
            }
        } onLogLine: {
            log.add("attempt \(token.rawValue): \($0)")
        }
        if let ending = JobPlanner.failure(of: request, ended)?.replacing(texts) {
            let failure = JobPlanner.noting(meter.device, in: ending, after: claim.lastFailure)
            log.add("attempt \(token.rawValue): \(failure.code): \(failure.message)")
            throw TaskFailure(failure)
        }
        try Task.checkCancellation()
        progress.set(token, of: claim.task, meter.publishing(date: Clock.now))
        return (ended.json ?? .null).replacing(texts)
    }

    /// What an attempt does with the chunks of an output, whose folder is made; `nil` if it is encoded in one piece.
    private func chunks(
        of claim: Claim,
        _ request: JobRequest,
        _ outputs: [Int]
    ) async throws -> JobPlanner.Chunks? {
        guard let output = outputs.first, request.outputs[output].parts != nil else { return nil }
        let folder = data.chunks(claim.task.job)
        try await FileWork.run { try Files.makeFolder(folder) }
        return JobPlanner.Chunks(
            // Another version encodes them anew.
            folder: "\(folder)/\(output)-\(version)",
            part: JobPlanner.part(ofPayload: claim.draft.payload)
        )
    }

    /// The file that an attempt reads, which is fetched if it has to be.
    private func input(of request: JobRequest, _ claim: Claim, _ log: JobLog) async throws -> String {
        let token = claim.token
        if let origin = try inputs.origin(of: request.input) {
            log.add("attempt \(token.rawValue): fetches \(origin.publicText)")
        }
        let meter = ByteMeter(phase: .fetching)
        do {
            return try await inputs.file(
                of: request.input,
                upload: JobPlanner.upload(ofPayload: claim.draft.payload),
                InputResolver.Fetching(
                    folder: data.spool(token),
                    timeLimit: request.timeLimit,
                    onProgress: { [progress, changes] bytes, size in
                        let fraction = size.map { Double(bytes) / Double(max($0, 1)) }
                        guard let value = meter.add(fraction, at: Clock.monotonic, date: Clock.now) else {
                            return
                        }
                        progress.set(token, of: claim.task, value)
                        changes.send()
                    },
                    onInterruption: { log.add("attempt \(token.rawValue): \($0)") }
                )
            )
        } catch let failure as TransferFailure {
            log.add("attempt \(token.rawValue): \(failure.code.rawValue): \(failure.message)")
            throw failure
        }
    }

    /// Looks at the outputs in processes that have not seen the input.
    private func check(
        _ outputs: [Int],
        of request: JobRequest,
        _ files: [ResultFile],
        _ document: JSONValue,
        in folder: String
    ) async throws {
        for check in OutputCheck.all(of: request, outputs: outputs, document: document) {
            let decoded = try await commands.run(check.command(in: folder), onProgress: { _ in }, onLogLine: { _ in })
            let size = files.first { $0.path == check.path }?.size
            if let failure = check.finding(size: size, decoded: decoded) {
                throw TaskFailure(failure.replacing([(folder + "/", "")]))
            }
        }
    }

    static func failure(of error: any Error) -> Failure {
        if let error = error as? FileError {
            return Failure(
                code: error.isLackOfSpace ? lackOfSpace : "input-output",
                message: "a file of the service cannot be used: \(error.reason)",
                isRetriable: true
            )
        }
        if let error = error as? TransferFailure {
            let details: JSONObject = ["remedies": .array(error.code.remedies.map(JSONValue.string))]
            return Failure(
                code: error.code.rawValue,
                message: error.message,
                isRetriable: error.isRetriable,
                details: JSONValue.object(details).text
            )
        }
        if let error = error as? APIError {
            return Failure(code: error.code.rawValue, message: error.description, isRetriable: false)
        }
        if let error = error as? MediaError {
            let details: JSONObject = ["remedies": .array(error.remedies.map(JSONValue.string))]
            return Failure(
                code: error.code.rawValue,
                message: error.description,
                isRetriable: true,
                details: JSONValue.object(details).text
            )
        }
        return Failure(code: "internal", message: "\(error)", isRetriable: true)
    }

    /// A word as a shell reads it.
    private static func shellWord(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && !"\"'\\$`&|;<>()*?[]{}!#~".utf8.contains(byte)
        }
        return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}

extension Failure {
    /// The same with other texts in the place of some.
    fileprivate func replacing(_ texts: [(String, String)]) -> Failure {
        var failure = self
        for (text, other) in texts {
            failure.message = failure.message.replacing(text, with: other)
            failure.details = failure.details?.replacing(text, with: other)
        }
        return failure
    }
}

extension JSONValue {
    /// The same with other texts in the place of some, wherever they occur in strings.
    fileprivate func replacing(_ texts: [(String, String)]) -> JSONValue {
        switch self {
        case .null, .bool, .integer, .number: return self
        case .string(let string):
            return .string(texts.reduce(string) { $0.replacing($1.0, with: $1.1) })
        case .array(let elements): return .array(elements.map { $0.replacing(texts) })
        case .object(var object):
            for member in object.members { object[member.key] = member.value.replacing(texts) }
            return .object(object)
        }
    }
}

/// Ends an attempt with a failure.
struct TaskFailure: Error {
    var failure: Failure
    init(_ failure: Failure) { self.failure = failure }
}

/// What a task returns, as the job store keeps it.
struct TaskResult: Sendable, Hashable {
    var files: [ResultFile]
    /// What the command has printed.
    var document: JSONValue

    init(files: [ResultFile], document: JSONValue) {
        self.files = files
        self.document = document
    }

    var text: String {
        JSONValue.object(["files": .array(files.map(\.json)), "document": document]).text
    }

    /// Reads a result; `nil` if it is none.
    init?(text: String?) {
        guard let text, let value = try? JSONValue(parsing: text), case .array(let items)? = value["files"] else {
            return nil
        }
        files = items.compactMap { try? ResultFile.decode(json: $0, mode: .response) }
        document = value["document"] ?? .null
    }
}

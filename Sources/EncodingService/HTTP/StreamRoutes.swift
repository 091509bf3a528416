// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncAlgorithms
internal import CLinux
internal import Glibc
internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import JobStore
internal import Logging
internal import MediaTypes
internal import NIOCore
internal import NIOPosix
internal import ServiceAPI
internal import Synchronization

/// `POST /v1/encode`: the body goes in, and the encoded stream comes out while it is still being sent.
///
/// It is a job of its own queue, so that lists, events and logs have it. The answer begins with the first encoded bytes; a
/// failure before that has its status. A failure after it breaks the connection off, and stands in the job.
struct StreamRoutes: Sendable {
    let service: ServiceState

    /// The queue of these jobs. It exists so that no other worker gets them.
    static let queue = "streams"
    /// The kind of their tasks.
    static let taskKind = "stream"

    var handlers: [String: Handler] { ["encode": encode] }

    func encode(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try request.query(StreamQuery.self)
        guard await !service.dispatcher.status.isDraining else {
            throw APIError(.unavailable, "The node drains: it begins no streams")
        }
        try service.streams.enter()
        let stream: EncodingStream
        do {
            stream = try await EncodingStream(service: service, query: query, client: context.client)
        } catch {
            service.streams.leave()
            throw error
        }
        await stream.start(request.body)
        let first: ByteBuffer
        do {
            guard let buffer = try await stream.next() else {
                throw APIError(.internal, "The stream has ended before it began")
            }
            first = buffer
        } catch {
            stream.abandon()
            throw error
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: query.format.mediaType, .jobID: stream.job.rawValue,
                .link: "</v1/jobs/\(stream.job)>; rel=\"monitor\"",
            ],
            body: ResponseBody { writer in
                do {
                    try await writer.write(first)
                    while let buffer = try await stream.next() { try await writer.write(buffer) }
                } catch {
                    stream.abandon()
                    throw error
                }
                try await writer.finish(nil)
            }
        )
    }
}

/// One encode from body to body.
private final class EncodingStream: Sendable {
    let job: JobID
    private let service: ServiceState
    private let claim: Claim
    private let query: StreamQuery
    private let input: (read: Int32, write: Int32)
    private let output: (read: Int32, write: Int32)
    private let channel = AsyncThrowingChannel<ByteBuffer, any Error>()
    private let work = Mutex<Task<Void, Never>?>(nil)
    private let isClientGone = Mutex(false)
    /// Whether the process has ended.
    private let isOver = Mutex(false)

    /// Makes the job, and claims it.
    init(service: ServiceState, query: StreamQuery, client: Client) async throws {
        self.service = service
        self.query = query
        var request = JobRequest()
        request.outputs = [query.output]
        request.queue = StreamRoutes.queue
        request.device = query.device
        request.requireHardware = query.requireHardware
        request.input.format = query.inputFormat
        request.input.frameRate = query.inputFrameRate
        let resource: Admission.Resource = query.device == "software" ? .processors : .devices
        let abilities: Set = ["stream:\(Identifier.make(at: Clock.now))", resource.rawValue]
        let task = TaskDraft(
            kind: StreamRoutes.taskKind,
            payload: JSONValue.object(["outputs": [0]]).text,
            demand: Demand(abilities: abilities),
            retries: RetryPolicy(mostFailures: 1, mostLosses: 1)
        )
        let draft = JobDraft(
            queue: StreamRoutes.queue,
            request: String(decoding: request.jsonBytes, as: UTF8.self),
            tasks: [task],
            retention: .seconds(86_400)
        )
        (input, output) = try Self.pipes()
        do {
            (job, claim) = try await Self.begin(draft, abilities, service)
        } catch {
            for end in [input.read, input.write, output.read, output.write] { close(end) }
            throw error
        }
    }

    /// Submits the job, and claims its task.
    private static func begin(
        _ draft: JobDraft,
        _ abilities: Set<String>,
        _ service: ServiceState
    ) async throws -> (JobID, Claim) {
        let job = try await service.store.submit(draft).job.id
        let offer = Demand(abilities: abilities)
        let claim = try await service.store.claim(service.dispatcher.request(offering: offer, in: [StreamRoutes.queue]))
        guard let claim else {
            _ = try await service.store.cancel(job)
            throw APIError(
                .invalidState,
                "The queue of streams is paused, closed or full",
                remedies: ["POST /v1/queues/\(StreamRoutes.queue)/resume"]
            )
        }
        // Nobody else submits to this queue, but a job of an older version may be in it.
        guard claim.task.job == job else {
            try await service.store.release(claim.token)
            _ = try await service.store.cancel(job)
            throw APIError(
                .unavailable,
                "The queue of streams has a job that is none",
                value: .string("\(claim.task.job)")
            )
        }
        return (job, claim)
    }

    private typealias Pipe = (read: Int32, write: Int32)

    private static func pipes() throws(FileError) -> (Pipe, Pipe) {
        var (first, second): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard linux_pipe(&first) == 0 else { throw FileError("pipe2", "a stream") }
        guard linux_pipe(&second) == 0 else {
            let error = FileError("pipe2", "a stream")
            for end in first { close(end) }
            throw error
        }
        return ((first[0], first[1]), (second[0], second[1]))
    }

    /// Starts the process, and feeds it.
    func start(_ body: RequestBody) async {
        let task = Task { await run(body) }
        work.withLock { $0 = task }
        await service.dispatcher.adopt(claim, task)
    }

    /// The next bytes; `nil` at the end.
    func next() async throws -> ByteBuffer? {
        var iterator = channel.makeAsyncIterator()
        return try await iterator.next()
    }

    /// The connection was closed. That it is not read any more after the end of the process looks the same.
    private func clientLeft() {
        if !isOver.withLock({ $0 }) { abandon() }
    }

    /// Nobody reads any more.
    func abandon() {
        isClientGone.withLock { $0 = true }
        channel.finish()
        work.withLock { $0 }?.cancel()
    }

    private func run(_ body: RequestBody) async {
        defer { service.streams.leave() }
        let log = try? JobLog(path: service.data.log(job))
        let command = command
        log?.add("vatoolbox \(command.arguments.joined(separator: " "))")
        let process = Task { [self, service, input, output, claim] in
            defer {
                isOver.withLock { $0 = true }
                // The ends of the process: with them, its side of both pipes is closed.
                close(input.read)
                close(output.write)
            }
            let meter = ProgressMeter()
            return try await service.commands.run(command) { told in
                guard let value = meter.add(told, at: Clock.monotonic, date: Clock.now) else { return }
                service.progress.set(claim.token, of: claim.task, value)
                service.changes.send()
            } onLogLine: { _ in
            }
        }
        let result: Result<CommandResult, any Error> = await withTaskCancellationHandler {
            await carry(body, process)
            return await process.result
        } onCancel: {
            process.cancel()
        }
        await settle(result, log)
        service.progress.remove(claim.token)
        service.changed()
    }

    private var command: WorkerCommand {
        var arguments = ["encode", "-", "--json"]
        arguments += query.inputFormat.map { ["--input-format=\($0)"] } ?? []
        arguments += query.inputFrameRate.map { ["--input-fps=\($0)"] } ?? []
        arguments += ["--device=\(query.device)"] + (query.requireHardware ? ["--require-hardware"] : [])
        arguments += ["-o", "-", "--format=\(query.format.name)"]
        arguments += JobPlanner.mediaArguments(query.output)
        var command = WorkerCommand(arguments: arguments, readsInput: true)
        // Clients may pause; encoders that hang may not.
        command.stallTimeout = max(600, 10 * service.settings.stallTimeout)
        command.streams = WorkerCommand.Streams(input: input.read, output: output.write)
        return command
    }

    /// Carries the body to the process, and what it writes to whoever reads the answer. Each waits for the other.
    private func carry(_ body: RequestBody, _ process: Task<CommandResult, any Error>) async {
        let pipes: NIOAsyncChannel<ByteBuffer, ByteBuffer>
        do {
            pipes = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .takingOwnershipOfDescriptors(input: output.read, output: input.write) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                            wrappingChannelSynchronously: channel,
                            configuration: .init(isOutboundHalfClosureEnabled: true)
                        )
                    }
                }
        } catch {
            // They were not taken.
            close(output.read)
            close(input.write)
            process.cancel()
            return
        }
        do {
            try await pipes.executeThenClose { inbound, outbound in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await self.feed(body, outbound, process) }
                    do {
                        for try await buffer in inbound { await self.channel.send(buffer) }
                    } catch {
                        process.cancel()
                    }
                    _ = await process.result
                    group.cancelAll()
                }
            }
        } catch {
            process.cancel()
        }
    }

    private func feed(
        _ body: RequestBody,
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ process: Task<CommandResult, any Error>
    ) async {
        do {
            try await body.consumeWithInboundCloseHandler { body in
                do {
                    for try await buffer in body { try await outbound.write(buffer) }
                    outbound.finish()
                } catch {
                    // The client has gone, or the process has ended: then it has said why.
                    if !(error is ChannelError) && !(error is IOError) { throw error }
                }
                _ = await process.result
            } onInboundClosed: { [self] in
                clientLeft()
            }
        } catch {
            clientLeft()
        }
    }

    /// Tells the store and the client how it has ended.
    private func settle(_ result: Result<CommandResult, any Error>, _ log: JobLog?) async {
        let failure: Failure?
        switch result {
        case .success(let ended):
            var request = JobRequest()
            // The client has the result already, and is told of the damage.
            request.damagedInput = .accept
            failure = JobPlanner.failure(of: request, ended)
            if failure == nil {
                let text = TaskResult(files: [], document: ended.json ?? .null).text
                do throws(StoreError) {
                    try await service.store.complete(claim.token, result: text, intent: "{}") {}
                } catch {
                    service.logger.error("the end of a stream cannot be stored", metadata: ["error": "\(error)"])
                }
                channel.finish()
                return
            }
        case .failure(let error):
            if isClientGone.withLock({ $0 }) {
                failure = Failure(
                    code: FailureCode.clientLeft.rawValue,
                    message: "the client has closed the connection",
                    isRetriable: false
                )
            } else if error is CancellationError || (error as? MediaError)?.code == .cancelled {
                failure = Failure(code: "cancelled", message: "the stream was cancelled", isRetriable: false)
            } else {
                failure = TaskRunner.failure(of: error)
                service.logger.error("a stream cannot be encoded", metadata: ["job": "\(job)", "error": "\(error)"])
            }
        }
        guard let failure else { return }
        log?.add("\(failure.code): \(failure.message)")
        try? await service.store.fail(claim.token, failure)
        let details = failure.details.flatMap { try? JSONValue(parsing: $0) }
        channel.fail(
            APIError(
                failure.code == "cancelled" ? .unavailable : .invalidRequest,
                "The stream cannot be encoded: \(failure.message)",
                field: "body",
                value: .string(failure.code),
                allowed: details?["allowed"]?.string,
                remedies: details?["remedies"]?.elements.compactMap(\.string) ?? [],
                cause: details?["cause"]?.string
            )
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
public import ServiceAPI

/// What a stream of events tells.
public enum ServiceEvent: Sendable, Hashable {
    /// Something has happened to a job.
    case event(Event)
    /// How far a job is. This has no number, and is not repeated after a break of the connection.
    case progress(job: String, Progress)

    /// Reads an event of a stream.
    ///
    /// - Returns: `nil` if it is of a kind that this version does not know.
    init?(_ event: ServerSentEvent) throws(ClientError) {
        do {
            let json = try JSONValue(parsing: Array(event.data.utf8))
            if event.type == EventType.progress.rawValue {
                let told = try Event.decode(json: json, mode: .response)
                self = .progress(job: told.job, try Progress.decode(json: told.data, mode: .response))
            } else {
                guard json["number"] != nil else { return nil }
                self = .event(try Event.decode(json: json, mode: .response))
            }
        } catch {
            throw ClientError(unreadable: error, what: "an event")
        }
    }
}

extension ServiceClient {
    /// The events of a job, from its first one on, until it ends.
    ///
    /// - Parameters:
    ///   - job: The ID of the job.
    ///   - number: Only later events than the one with this number.
    public func events(of job: String, after number: Int? = nil) -> EventSequence {
        EventSequence(client: self, job: job, after: number)
    }

    /// The events of all jobs, from now on or after the one with a number. The sequence has no end.
    public func events(after number: Int? = nil) -> EventSequence {
        EventSequence(client: self, job: nil, after: number)
    }
}

/// Events as they happen. If the connection breaks, the sequence connects again and continues after the last event, for
/// as long as ``ServiceClient/Settings/longPatience`` says.
public struct EventSequence: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServiceEvent
    /// What ends the sequence early.
    public typealias Failure = ClientError

    let client: ServiceClient
    let job: String?
    let after: Int?

    /// Connects when the first event is asked for.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            transport: client.longTransport,
            job: job,
            parser: EventStreamParser(lastID: after.map(String.init)),
            outage: Outage(client.longTransport.policy)
        )
    }

    /// Reads a stream, and the one after it.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let transport: Transport
        let job: String?
        var parser: EventStreamParser
        var outage: Outage
        private var pending: ArraySlice<ServerSentEvent> = []
        private var body: HTTPClientResponse.Body.AsyncIterator?
        /// Whether the last event of the job says that it has ended.
        private var hasEnded = false

        init(transport: Transport, job: String?, parser: EventStreamParser, outage: Outage) {
            self.transport = transport
            self.job = job
            self.parser = parser
            self.outage = outage
        }

        /// The next event; `nil` after the last one of a job.
        public mutating func next() async throws(ClientError) -> ServiceEvent? {
            while true {
                while let event = pending.popFirst() {
                    guard let event = try ServiceEvent(event) else { continue }
                    note(event)
                    return event
                }
                do {
                    try await read()
                } catch {
                    body = nil
                    // After the last event, nothing was missed.
                    if hasEnded { return nil }
                    try await outage.pause(after: error)
                    continue
                }
                if body == nil, pending.isEmpty, hasEnded { return nil }
            }
        }

        private mutating func note(_ event: ServiceEvent) {
            guard job != nil, case .event(let event) = event, let type = event.eventType else { return }
            switch type {
            case .succeeded, .failed, .cancelled: hasEnded = true
            case .waiting, .started, .attemptStarted: hasEnded = false
            default: break
            }
        }

        /// Reads the next piece; without a connection it connects first, and at the end of the stream there is none.
        private mutating func read() async throws(ClientError) {
            if body == nil {
                let path = job.map { ServicePath("jobs", $0, "events") } ?? ServicePath("events")
                var exchange = Exchange(.GET, path)
                exchange.headers.append((name: "Accept", value: "text/event-stream"))
                if let id = parser.lastID, !id.isEmpty { exchange.headers.append((name: "Last-Event-ID", value: id)) }
                let response = try await transport.open(exchange)
                try await transport.check(response)
                guard response.headers.first(name: "Content-Type")?.hasPrefix("text/event-stream") == true else {
                    throw ClientError(.unexpectedAnswer, "the answer is not a stream of events")
                }
                parser = EventStreamParser(lastID: parser.lastID)
                body = response.body.makeAsyncIterator()
            }
            let piece: ByteBuffer?
            do {
                piece = try await body?.next()
            } catch {
                throw transport.failure(error)
            }
            guard let piece else {
                body = nil
                // A service that is being stopped ends its streams.
                if !hasEnded {
                    throw ClientError(.interrupted, "the stream of events has ended", remedies: [])
                }
                return
            }
            // Also a comment, by which the service says that nothing happens.
            if piece.readableBytes > 0 { outage.end() }
            pending = parser.feed(piece.readableBytesView)[...]
            guard !parser.isTooLong else {
                throw ClientError(.unexpectedAnswer, "an event has more than \(EventStreamParser.limit) bytes")
            }
        }
    }
}

// MARK: - Logs

extension ServiceClient {
    /// What the processes of a job have written.
    ///
    /// - Parameters:
    ///   - job: The ID of the job.
    ///   - follows: Whether the sequence goes on with further lines until the job ends, also after breaks of the
    ///     connection.
    public func log(of job: String, follows: Bool = false) -> LogSequence {
        LogSequence(client: self, job: job, follows: follows)
    }
}

/// The log of a job in pieces of UTF-8, which need not end where lines or characters do.
public struct LogSequence: AsyncSequence, Sendable {
    /// Bytes of the log.
    public typealias Element = [UInt8]
    /// What ends the sequence early.
    public typealias Failure = ClientError

    let client: ServiceClient
    let job: String
    let follows: Bool

    /// Connects when the first piece is asked for.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(client: client, job: job, follows: follows) }

    /// Reads the log, which only grows: after a break, what was read before is skipped.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: ServiceClient
        let job: String
        let follows: Bool
        private var outage: Outage
        private var body: HTTPClientResponse.Body.AsyncIterator?
        /// The bytes that were returned.
        private var position = 0
        /// The bytes of the present answer that were returned before.
        private var known = 0
        private var isAtEnd = false

        init(client: ServiceClient, job: String, follows: Bool) {
            self.client = client
            self.job = job
            self.follows = follows
            outage = Outage(client.longTransport.policy)
        }

        /// The next piece.
        public mutating func next() async throws(ClientError) -> [UInt8]? {
            while !isAtEnd {
                do {
                    if let piece = try await read() {
                        outage.end()
                        return piece
                    }
                } catch {
                    body = nil
                    // A log that stays silent is no failure.
                    if error.kind == .timedOut { outage.end() }
                    try await outage.pause(after: error)
                }
            }
            return nil
        }

        private func isFinal() async throws(ClientError) -> Bool {
            let job: Job = try await client.longTransport.value(Exchange(.GET, ServicePath("jobs", job)))
            return job.state.isFinal
        }

        private mutating func read() async throws(ClientError) -> [UInt8]? {
            let transport = client.longTransport
            if body == nil {
                let path = ServicePath("jobs", job, "log").query("follow", follows ? "true" : nil)
                var exchange = Exchange(.GET, path)
                exchange.headers.append((name: "Accept", value: "text/plain"))
                let response = try await transport.open(exchange)
                try await transport.check(response)
                body = response.body.makeAsyncIterator()
                known = position
            }
            let piece: ByteBuffer?
            do {
                piece = try await body?.next()
            } catch {
                throw transport.failure(error)
            }
            guard var piece else {
                body = nil
                // A service that is being stopped ends its streams: then the job has not ended.
                if follows, try await !isFinal() {
                    throw ClientError(.interrupted, "the log has ended before the job")
                }
                isAtEnd = true
                return nil
            }
            let skipped = Swift.min(known, piece.readableBytes)
            piece.moveReaderIndex(forwardBy: skipped)
            known -= skipped
            guard piece.readableBytes > 0 else { return nil }
            position += piece.readableBytes
            return Array(piece.readableBytesView)
        }
    }
}

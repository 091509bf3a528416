// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// A client of RTMP that publishes one stream: a value that takes bytes and units, and returns what to do.
///
/// The order of things: ``opening`` is sent; ``receive(_:)`` answers the server until it returns `accepted`; from then
/// on ``send(_:)`` and ``finish()`` return bytes to send. An error of any function ends the connection.
struct RTMPPublisher: Sendable {
    /// What to do after bytes have arrived.
    enum Action: Sendable, Hashable {
        /// Send bytes.
        case send([UInt8])
        /// The server takes the stream: units may be sent.
        case accepted
        /// The server does not take the stream, or not any longer.
        case refused(MediaError)
        /// The server wants another connection, with this query behind the application.
        case authenticate(query: String)
        /// The server asks for a new connection; the present one works for some time.
        case reconnect(MediaError)
    }

    /// How far the connection is.
    enum Stage: Sendable, Hashable {
        case handshake
        case connecting
        case creatingStream
        case publishing
        case accepted
        case finished

        /// What happens at this stage, to follow "while".
        var activity: String {
            switch self {
            case .handshake: "shaking hands"
            case .connecting: "connecting to the application"
            case .creatingStream: "creating a stream"
            case .publishing: "asking to publish"
            case .accepted: "publishing"
            case .finished: "ending the stream"
            }
        }
    }

    private(set) var stage = Stage.handshake
    private let address: RTMPAddress
    private let query: String
    private let challenge: UInt32
    private let codec: VideoCodec?
    private var handshake: RTMPHandshake
    private var reader = RTMPChunkReader()
    private var writer = RTMPChunkWriter()
    private var media: RTMPMediaWriter
    private var streamID: UInt32 = 0
    private var window: UInt32 = 0
    private var announcedWindow: UInt32 = 0
    private var receivedBytes: UInt32 = 0
    private var acknowledgedBytes: UInt32 = 0

    /// - Parameter query: What ``Action/authenticate(query:)`` of an earlier connection has stated.
    /// - Throws: `unsupported` for tracks that RTMP cannot carry.
    init(
        _ address: RTMPAddress,
        tracks: LiveTracks,
        query: String = "",
        random: inout some RandomNumberGenerator
    ) throws(MediaError) {
        (self.address, self.query, challenge) = (address, query, random.next())
        codec = tracks.video?.codec
        handshake = RTMPHandshake(random: &random)
        media = try RTMPMediaWriter(tracks)
    }

    /// What to send first.
    var opening: [UInt8] { handshake.opening }

    /// Takes bytes from the server.
    ///
    /// - Throws: `malformedData` if they are no RTMP.
    mutating func receive(_ bytes: ArraySlice<UInt8>) throws(MediaError) -> [Action] {
        var rest = bytes
        var output: [UInt8] = []
        if stage == .handshake {
            let (answer, behind) = try handshake.receive(bytes)
            guard let behind else { return answer.isEmpty ? [] : [.send(answer)] }
            output = answer
            rest = behind
            connect(&output)
        }
        receivedBytes &+= UInt32(truncatingIfNeeded: rest.count)
        var actions: [Action] = []
        for message in try reader.receive(rest) {
            if let action = try answer(RTMPServerMessage(message), &output) { actions.append(action) }
        }
        if window > 0, receivedBytes &- acknowledgedBytes >= window {
            acknowledgedBytes = receivedBytes
            write(RTMPMessage(.acknowledgement, number: receivedBytes), on: .control, &output)
        }
        return output.isEmpty ? actions : [.send(output)] + actions
    }

    /// Returns the bytes of a unit.
    ///
    /// - Throws: `unsupported` if RTMP cannot carry it; `invalidArgument` for times that are invalid or negative;
    ///   `invalidState` if the server has not accepted the stream.
    mutating func send(_ unit: LiveUnit) throws(MediaError) -> [UInt8] {
        guard stage == .accepted else {
            throw MediaError(.invalidState, "the RTMP server has not accepted the stream")
        }
        var output: [UInt8] = []
        output.reserveCapacity(unit.byteCount + unit.byteCount / 2048 + 64)
        for message in try media.messages(for: unit) { write(media: message, &output) }
        return output
    }

    /// Returns the bytes that end the stream.
    mutating func finish() -> [UInt8] {
        guard stage == .accepted else { return [] }
        stage = .finished
        var output: [UInt8] = []
        for message in media.ending() { write(media: message, &output) }
        command("FCUnpublish", transaction: 6, [.null, .string(address.key)], &output)
        command("deleteStream", transaction: 7, [.null, .number(Double(streamID))], &output)
        return output
    }
}

// MARK: - Sending

extension RTMPPublisher {
    private mutating func write(
        _ message: RTMPMessage,
        on stream: RTMPChunkWriter.ChunkStream,
        _ output: inout [UInt8]
    ) {
        writer.write(message, on: stream, to: &output)
    }

    private mutating func write(media message: RTMPMessage, _ output: inout [UInt8]) {
        var message = message
        message.streamID = streamID
        let stream: RTMPChunkWriter.ChunkStream =
            switch message.kind {
            case .audio: .audio
            case .video: .video
            default: .metadata
            }
        write(message, on: stream, &output)
    }

    private mutating func command(
        _ name: String,
        transaction: Int,
        _ values: [AMF0Value],
        streamID: UInt32 = 0,
        _ output: inout [UInt8]
    ) {
        let values = [.string(name), .number(Double(transaction))] + values
        write(RTMPMessage(command: values, streamID: streamID), on: .commands, &output)
    }

    private enum Transaction {
        static let connect = 1
        static let releaseStream = 2
        static let publishAnnouncement = 3
        static let createStream = 4
        static let publish = 5
    }

    /// The greatest payload of a chunk after the handshake: small enough for every server, with 0.03 % of overhead.
    private static let chunkSize = 4096

    private mutating func connect(_ output: inout [UInt8]) {
        stage = .connecting
        var properties: [AMF0Value.Property] = [
            .init("app", .string(address.application + query)), .init("type", .string("nonprivate")),
            .init("flashVer", .string("FMLE/3.0 (compatible; VAToolbox/\(PackageVersion.current))")),
            .init("tcUrl", .string(address.applicationAddress + query)),
        ]
        if codec == .hevc {
            // Enhanced RTMP: the codecs that this side sends, and that it understands ReconnectRequest.
            properties += [
                .init("fourCcList", .strictArray([.string("hvc1")])), .init("capsEx", .number(1)),
            ]
        }
        command("connect", transaction: Transaction.connect, [.object(properties)], &output)
    }

    private mutating func createStream(_ output: inout [UInt8]) {
        stage = .creatingStream
        write(RTMPMessage(.setChunkSize, number: UInt32(Self.chunkSize)), on: .control, &output)
        writer.chunkSize = Self.chunkSize
        let key: [AMF0Value] = [.null, .string(address.key)]
        command("releaseStream", transaction: Transaction.releaseStream, key, &output)
        command("FCPublish", transaction: Transaction.publishAnnouncement, key, &output)
        command("createStream", transaction: Transaction.createStream, [.null], &output)
    }

    private mutating func publish(_ output: inout [UInt8]) {
        stage = .publishing
        let values: [AMF0Value] = [.null, .string(address.key), .string("live")]
        command("publish", transaction: Transaction.publish, values, streamID: streamID, &output)
    }
}

// MARK: - Answers

extension RTMPPublisher {
    private mutating func answer(
        _ message: RTMPServerMessage,
        _ output: inout [UInt8]
    ) throws(MediaError) -> Action? {
        switch message {
        case .windowAcknowledgementSize(let size): window = size
        case .setPeerBandwidth(let size):
            guard size != announcedWindow else { break }
            announcedWindow = size
            write(RTMPMessage(.windowAcknowledgementSize, number: size), on: .control, &output)
        case .pingRequest(let time): write(RTMPMessage(pingResponse: time[...]), on: .control, &output)
        case .command("_result", let transaction, let values): return try succeeded(transaction, values, &output)
        case .command("_error", let transaction, let values): return try failed(transaction, values)
        case .command("onStatus", _, let values): return try status(RTMPStatus(values), &output)
        case .command("onFCPublish", _, let values):
            let status = RTMPStatus(values)
            return status.isError ? refusal(status) : nil
        case .acknowledgement, .command, .other: break
        }
        return nil
    }

    private mutating func succeeded(
        _ transaction: Double,
        _ values: [AMF0Value],
        _ output: inout [UInt8]
    ) throws(MediaError) -> Action? {
        switch (transaction, stage) {
        case (Double(Transaction.connect), .connecting):
            let status = RTMPStatus(values)
            if status.isError { return refusal(status) }
            createStream(&output)
        case (Double(Transaction.createStream), .creatingStream):
            guard let number = values.lazy.compactMap(\.number).first, let id = UInt32(exactly: number) else {
                throw MediaError(.malformedData, "the RTMP server created a stream without a number")
            }
            streamID = id
            publish(&output)
        default: break
        }
        return nil
    }

    /// Servers that do not know `releaseStream` and `FCPublish` answer these with errors that mean nothing.
    private func failed(_ transaction: Double, _ values: [AMF0Value]) throws(MediaError) -> Action? {
        let status = RTMPStatus(values)
        switch (transaction, stage) {
        case (Double(Transaction.connect), .connecting):
            let next = try RTMPAuthentication.query(
                after: status.description ?? "",
                of: query,
                for: address,
                challenge: challenge
            )
            return next.map { .authenticate(query: $0) } ?? refusal(status)
        case (Double(Transaction.createStream), .creatingStream), (Double(Transaction.publish), .publishing):
            return refusal(status)
        default: return nil
        }
    }

    private mutating func status(_ status: RTMPStatus, _ output: inout [UInt8]) throws(MediaError) -> Action? {
        if status.code == RTMPStatus.reconnectRequest { return .reconnect(reconnection(status)) }
        if stage == .publishing, status.code == RTMPStatus.publishStart {
            stage = .accepted
            for message in try media.opening() { write(media: message, &output) }
            return .accepted
        }
        guard stage != .finished, status.isError || status.endsStream else { return nil }
        return refusal(status)
    }
}

// MARK: - Errors

extension RTMPPublisher {
    /// The error if the server closes the connection now.
    var closed: MediaError {
        var error = MediaError(.inputOutput, "the RTMP server closed the connection while \(stage.activity)")
        error.given = address.description
        if stage == .publishing { error.remedies = ["check the stream key, and that nothing else publishes with it"] }
        if stage == .connecting { error.remedies = ["check the application in the address"] }
        return error
    }

    /// The error if the server does not answer in time.
    func timedOut(afterMilliseconds limit: Int32) -> MediaError {
        let time = Readable.seconds(.milliseconds(Int64(limit)))
        return MediaError(
            .deadlineExceeded,
            "the RTMP server did not go on within \(time) while \(stage.activity)",
            given: address.description
        )
    }

    private func refusal(_ status: RTMPStatus) -> Action {
        if let target = status.redirect {
            return .refused(
                MediaError(
                    .unavailable,
                    "the RTMP server sends publishers to another address: \(address.redacted(target))",
                    given: address.description
                )
            )
        }
        let reason = address.redacted(status.reason)
        guard stage != .accepted else {
            return .refused(
                MediaError(.inputOutput, "the RTMP server ended the stream: \(reason)", given: address.description)
            )
        }
        let subject = stage == .publishing ? "the stream" : "the connection"
        return .refused(
            MediaError(
                .unavailable,
                "the RTMP server refuses \(subject): \(reason)",
                given: address.description,
                isPermanent: status.isPermanent
            )
        )
    }

    private func reconnection(_ status: RTMPStatus) -> MediaError {
        let target = status.newAddress.map { " to \(address.redacted($0))" } ?? ""
        let reason = status.description.map { ": \(address.redacted($0))" } ?? ""
        return MediaError(
            .inputOutput,
            "the RTMP server asks for a new connection\(target)\(reason)",
            given: address.description
        )
    }
}

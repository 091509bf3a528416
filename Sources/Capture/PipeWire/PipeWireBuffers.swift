// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import Glibc
internal import MediaTypes

/// A `pw_stream` that receives pictures, its format and its buffers. Made, used and released by one thread, which also
/// runs the loop of the connection.
///
/// A source that allocates its own buffers keeps them for its next receiver, and in them the count of those who use them
/// (`SPA_META_Busy`): a buffer that is not queued again is lost to it until the session manager suspends it. So all are
/// queued at the end, except those of pictures that are still used.
final class PipeWireBuffers {
    /// A buffer of the stream.
    struct Buffer {
        let raw: UnsafeMutablePointer<pw_buffer>
        let format: PipeWireFormat
        let memory: PipeWireMemory
    }

    /// The least and the largest number of buffers, and the one that is asked for: enough for pictures that an encoder
    /// holds, and for the source to go on meanwhile.
    static let counts: (least: Int32, wanted: Int32, most: Int32) = (2, 12, 32)
    /// The number of pictures that may wait for the reader. Older ones are dropped.
    private static let mostWaiting = 4

    /// The format, as soon as it is negotiated.
    private(set) var format: PipeWireFormat?
    /// Why the stream has ended.
    private(set) var failure: MediaError?
    /// The buffers that are used for pictures.
    private(set) var held: Set<Int> = []
    /// The number of pictures that were dropped because they waited too long, since the last call of ``take()``.
    private var dropped = 0

    private let node: PipeWireNode
    /// The stream needs it until its end.
    private let connection: PipeWireConnection
    private let returns: PipeWireReturns
    private let events = UnsafeMutablePointer<pw_stream_events>.allocate(capacity: 1)
    private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
    private let stream: OpaquePointer
    private var buffers: [Int: Buffer] = [:]
    private var waiting: [Int] = []
    private var lastNumber = 0
    private var isConnected = false

    /// Makes a stream that is linked with a node.
    ///
    /// - Throws: `outOfMemory`, or `inputOutput` if the stream cannot be made.
    init(
        _ request: PipeWireStream.Request,
        _ node: PipeWireNode,
        _ connection: PipeWireConnection,
        _ returns: PipeWireReturns
    ) throws(MediaError) {
        (self.node, self.connection, self.returns) = (node, connection, returns)
        events.initialize(to: pw_stream_events())
        hook.initialize(to: spa_hook())
        let properties = pipewire_properties(PW_KEY_MEDIA_TYPE, "Video")
        pw_properties_set(properties, PW_KEY_MEDIA_CATEGORY, "Capture")
        pw_properties_set(properties, PW_KEY_MEDIA_ROLE, node.mediaClass == "Video/Source" ? "Camera" : "Screen")
        guard let stream = pw_stream_new(connection.core, "VAToolbox capture", properties) else {
            let status = errno
            events.deallocate()
            hook.deallocate()
            throw Self.failed("pw_stream_new", status: status)
        }
        self.stream = stream
        setEvents()
        try connect(request)
    }

    deinit {
        pipewire_remove_hook(hook)
        takeReturns()
        for number in waiting { giveBack(number) }
        pw_stream_destroy(stream)
        events.deallocate()
        hook.deallocate()
    }

    private static func failed(_ call: String, status: Int32) -> MediaError {
        MediaError(
            status == ENOMEM ? .outOfMemory : .inputOutput,
            "a stream of PipeWire cannot be made: \(PipeWireFailure.text(status))",
            call: call,
            status: Int(status)
        )
    }

    /// Offers other formats, of which the server negotiates one. Until then, the buffers stay what they are.
    ///
    /// - Throws: `inputOutput` or `outOfMemory`.
    func offer(_ request: PipeWireStream.Request) throws(MediaError) {
        let status = PipeWireOffers(request).withParameters { parameters in
            pw_stream_update_params(stream, parameters.baseAddress, UInt32(parameters.count))
        }
        guard status >= 0 else { throw Self.failed("pw_stream_update_params", status: -status) }
    }

    private func connect(_ request: PipeWireStream.Request) throws(MediaError) {
        let status = PipeWireOffers(request).withParameters { parameters in
            pipewire_receive(stream, node.id, parameters.baseAddress, UInt32(parameters.count))
        }
        guard status >= 0 else { throw Self.failed("pw_stream_connect", status: -status) }
    }
}

// MARK: - Events

extension PipeWireBuffers {
    private static func from(_ data: UnsafeMutableRawPointer?) -> PipeWireBuffers? {
        data.map { Unmanaged<PipeWireBuffers>.fromOpaque($0).takeUnretainedValue() }
    }

    private func setEvents() {
        events.pointee.version = UInt32(PW_VERSION_STREAM_EVENTS)
        events.pointee.state_changed = { data, _, state, message in
            PipeWireBuffers.from(data)?.change(to: state, message.map { String(cString: $0) })
        }
        events.pointee.param_changed = { data, id, parameter in
            guard id == SPA_PARAM_Format.rawValue else { return }
            PipeWireBuffers.from(data)?.setFormat(parameter)
        }
        events.pointee.add_buffer = { data, buffer in
            if let buffer { PipeWireBuffers.from(data)?.add(buffer) }
        }
        events.pointee.remove_buffer = { data, buffer in
            if let buffer { PipeWireBuffers.from(data)?.remove(buffer) }
        }
        pw_stream_add_listener(stream, hook, events, Unmanaged.passUnretained(self).toOpaque())
    }

    private func fail(_ error: MediaError) {
        if failure == nil { failure = error }
    }

    private func change(to state: pw_stream_state, _ message: String?) {
        switch state {
        case PW_STREAM_STATE_ERROR: fail(PipeWireFailure.stream(message ?? "unknown error", node))
        case PW_STREAM_STATE_UNCONNECTED:
            if isConnected { fail(PipeWireFailure.nodeGone(node)) }
        default: isConnected = true
        }
    }

    /// The format was negotiated, or has no meaning any more.
    private func setFormat(_ parameter: UnsafePointer<spa_pod>?) {
        guard let parameter else { return }
        var info = spa_video_info_raw()
        do throws(MediaError) {
            let status = pipewire_parse(parameter, &info)
            guard status == 0 else {
                throw MediaError(
                    .unsupported,
                    "the source delivers no uncompressed pictures",
                    given: node.description,
                    call: "spa_format_video_raw_parse",
                    status: Int(status)
                )
            }
            let format = try PipeWireFormat(info)
            self.format = format
            let updated = PipeWireOffers.withNeeds(usesDMABuf: format.modifier != nil) { parameters in
                pw_stream_update_params(stream, parameters.baseAddress, UInt32(parameters.count))
            }
            guard updated >= 0 else { throw Self.failed("pw_stream_update_params", status: -updated) }
        } catch {
            fail(error)
        }
    }

    private func add(_ raw: UnsafeMutablePointer<pw_buffer>) {
        guard let format, failure == nil else { return }
        var contents = pipewire_picture()
        pipewire_describe(raw, &contents)
        do throws(MediaError) {
            lastNumber += 1
            raw.pointee.user_data = UnsafeMutableRawPointer(bitPattern: lastNumber)
            buffers[lastNumber] = Buffer(raw: raw, format: format, memory: try PipeWireMemory(try contents.used()))
        } catch {
            fail(error)
        }
    }

    private func remove(_ raw: UnsafeMutablePointer<pw_buffer>) {
        let number = Int(bitPattern: raw.pointee.user_data)
        takeReturns()
        if waiting.contains(number) { giveBack(number) }
        buffers[number] = nil
        held.remove(number)
        waiting.removeAll { $0 == number }
    }
}

// MARK: - Pictures

extension PipeWireBuffers {
    /// Takes the next buffer that the source has filled; `nil` if there is none. ``giveBack(_:)`` or ``hold(_:)``
    /// follows.
    ///
    /// - Returns: The buffer and its number, and how many before it were dropped because the reader was late.
    func take() -> (number: Int, buffer: Buffer, dropped: Int)? {
        takeReturns()
        while let raw = pw_stream_dequeue_buffer(stream) {
            let number = Int(bitPattern: raw.pointee.user_data)
            if buffers[number] == nil { pw_stream_queue_buffer(stream, raw) } else { waiting.append(number) }
        }
        while waiting.count > Self.mostWaiting {
            giveBack(waiting.removeFirst())
            dropped += 1
        }
        guard !waiting.isEmpty else { return nil }
        let number = waiting.removeFirst()
        guard let buffer = buffers[number] else { return nil }
        defer { dropped = 0 }
        return (number, buffer, dropped)
    }

    /// Gives the buffers back whose pictures were released.
    private func takeReturns() {
        for number in returns.take() where held.remove(number) != nil { giveBack(number) }
    }

    /// Gives a buffer back to the source.
    func giveBack(_ number: Int) {
        if let buffer = buffers[number] { pw_stream_queue_buffer(stream, buffer.raw) }
    }

    /// The buffer is used for a picture, until its number is in the returns.
    func hold(_ number: Int) { held.insert(number) }

    /// Whether so many buffers remain for the source while one more is held.
    func hasSpare(_ count: Int) -> Bool { buffers.count - held.count - waiting.count > count }
}

extension pipewire_picture {
    /// The blocks of the buffer.
    ///
    /// - Throws: `unsupported` if there are too many.
    func used() throws(MediaError) -> [pipewire_block] {
        guard (1...UInt32(PIPEWIRE_BLOCKS)).contains(block_count) else {
            throw MediaError(
                .unsupported,
                "a picture of the source has another number of data blocks",
                given: "\(block_count)",
                allowed: "1...\(PIPEWIRE_BLOCKS)"
            )
        }
        return [blocks.0, blocks.1, blocks.2].prefix(Int(block_count)).map { $0 }
    }
}

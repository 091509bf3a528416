// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport
internal import Logging
internal import MediaTypes
internal import SoftwareEncoder

@testable internal import HelperIPC

// A helper's end of the protocol, whose client says what the fuzzer wants, over real sockets and with real descriptors.
//
// Input: a byte of manners (see `Manners`), then records, each of them a byte of form (see `Form`), and
// - a message as it is: its length in two bytes, and its bytes; or
// - a payload that gets a true header: its kind in one byte, its length in two bytes, and its bytes.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    return FuzzProgram.start { try Seeds.all() }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    bench.play(FuzzInput(bytes, count))
    return 0
}

/// libFuzzer calls from one thread.
nonisolated(unsafe) private let bench = Bench()

/// How the client behaves as a whole.
struct Manners: OptionSet {
    let rawValue: UInt8
    /// It greets.
    static let greets = Manners(rawValue: 1)
    /// It says that it closes.
    static let closes = Manners(rawValue: 2)
    /// It makes room for coded frames by itself.
    static let takes = Manners(rawValue: 4)
    /// It reads nothing before the end.
    static let isDeaf = Manners(rawValue: 8)
    /// It closes the control socket before the connection.
    static let endsControlFirst = Manners(rawValue: 16)
    /// It wants a decoder.
    static let decodes = Manners(rawValue: 32)

    var connection: ConnectionKind { contains(.decodes) ? .decoder : .encoder }
}

/// What a record is. The lowest three bits choose descriptors.
struct Form: OptionSet {
    let rawValue: UInt8
    /// It goes over the control socket.
    static let control = Form(rawValue: 8)
    /// It has no true header.
    static let raw = Form(rawValue: 16)
    /// The client waits for the answer.
    static let waits = Form(rawValue: 32)
    var descriptors: UInt8 { rawValue & 7 }
}

/// The client, and the thread of the helper.
private final class Bench {
    /// Answers, by the kinds of ``EncoderHelperMessage``, where `coded` is not one, and ``DecoderHelperMessage``.
    private static let answers: Set<UInt16> = [65, 66, 67, 70, 71, 72, 76, 97, 98, 99, 100, 101, 102]
    /// Orders that have answers.
    private static let orders: Set<UInt16> = [1, 4, 5, 6, 9, 33, 35, 36]
    private static let coded: UInt16 = 69
    private static let roomWanted: UInt16 = 77

    private let worker = Worker()
    private let attachments = Attachments()
    private var leaks = LeakWatch()

    func play(_ input: FuzzInput) {
        var input = input
        let manners = Manners(rawValue: input.byte())
        let controlEnds = RawPeer.pair()
        let connectionEnds = RawPeer.pair()
        let (control, connection) = (RawPeer(owning: controlEnds.near), RawPeer(owning: connectionEnds.near))
        var services = HelperServices(encoders: [EchoFactory(), SmallX264Factory()])
        services.otherEncoders = { $0.isHardware ? EchoFactory() : nil }
        services.decoders = [EchoDecoderFactory()]
        services.inspector = inspect
        let server = HelperServer(socket: controlEnds.far, services: services)
        worker.start { try? server.run() }

        if manners.contains(.greets) { control.send(control.framed(kind: 129, Seeds.hello, descriptorCount: 0)) }
        var far: RawPeer? = RawPeer(owning: connectionEnds.far)
        let attach = control.framed(kind: 130, [manners.connection.rawValue], descriptorCount: 1)
        control.send(attach, [connectionEnds.far])
        far = nil
        _ = far
        send(&input, control, connection, manners)
        if manners.contains(.closes) {
            let kind = manners.contains(.decodes) ? DecoderMessages.close.kind : EncoderMessages.close.kind
            connection.send(connection.framed(kind: kind, [], descriptorCount: 0))
            control.send(control.framed(kind: 131, [], descriptorCount: 0))
        }
        if manners.contains(.endsControlFirst) { control.finishAndDrop() }
        connection.finishAndWait()
        control.finishAndDrop()
        worker.join()
        leaks.check()
    }

    private func send(_ input: inout FuzzInput, _ control: RawPeer, _ connection: RawPeer, _ manners: Manners) {
        var patience: Int32 = 30
        var taken: UInt64 = 0
        for _ in 0..<32 where !input.isEmpty {
            let form = Form(rawValue: input.byte())
            let peer = form.contains(.control) ? control : connection
            let descriptors = attachments.set(form.descriptors)
            let kind = form.contains(.raw) ? 0 : self.kind(input.byte(), form, manners)
            let bytes = input.bytes(input.short())
            let message =
                form.contains(.raw) ? bytes : peer.framed(kind: kind, bytes, descriptorCount: descriptors.count)
            guard peer.send(message, descriptors) else { continue }
            if manners.contains(.isDeaf) { continue }
            // Only what has an answer is waited for; what is refused is answered by the end of the connection.
            var isWaiting = form.contains(.waits) && patience > 0 && Self.orders.contains(kind)
            while true {
                let arrival = connection.receive(within: isWaiting ? patience : 0)
                if case .message(Self.coded) = arrival { taken += 1 }
                if case .message(Self.roomWanted) = arrival, manners.contains(.takes) {
                    let payload = (0..<8).map { UInt8(truncatingIfNeeded: taken >> ($0 * 8)) }
                    connection.send(connection.framed(kind: 7, payload, descriptorCount: 0))
                }
                if case .message(let answer) = arrival, Self.answers.contains(answer) { isWaiting = false }
                if arrival == .end { return }
                if arrival == .nothing {
                    // An encoder that waits for room is not waited for again.
                    if isWaiting { patience = 0 }
                    break
                }
            }
            while case .message = control.receive(within: 0) {}
        }
    }

    private func kind(_ byte: UInt8, _ form: Form, _ manners: Manners) -> UInt16 {
        if form.contains(.control) { return 129 + UInt16(byte & 3) }
        return UInt16(byte & 15) + (manners.contains(.decodes) ? DecoderClientMessage.Kind.create.rawValue : 0)
    }
}

extension RawPeer {
    /// Says nothing more, and takes what comes without waiting for the end.
    fileprivate func finishAndDrop() {
        finish()
        while case .message = receive(within: 0) {}
    }
}

// MARK: - An encoder and a driver

/// A driver that says what it is unless its path is empty.
@Sendable private func inspect(
    _ path: String,
    _ tell: (DriverNews) throws(MediaError) -> Void
) throws(MediaError) {
    try tell(.stage(.openingNode))
    if path.isEmpty { throw MediaError(.unavailable, "no such node") }
    try tell(.stage(.loading(file: path)))
    try tell(.report(DriverReport(majorVersion: 1, minorVersion: 22, vendor: path, file: path, profiles: [])))
}

/// Makes encoders that read every sample, and code frames of telling sizes.
private struct EchoFactory: EncoderFactory {
    var identity: EncoderIdentity { Seeds.identity }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend { EchoEncoder(request) }
}

private final class EchoEncoder: EncoderBackend {
    /// With rings of 4096 bytes, of 65536, and any other: nothing, a part, all of it, and more than there is.
    private static let sizes = [0, 1, 63, 64, 65, 1500, 4096, 4097, 30000, 65536, 65537]

    let properties: EncoderProperties
    private let output: @Sendable (EncoderOutput) -> Void
    /// The frames that were not coded yet, whose pictures are kept.
    private var waiting: [EncoderFrame] = []

    init(_ request: EncoderRequest) {
        output = request.output
        properties = Seeds.properties(request.configuration)
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        try frame.buffer.withPlanes { planes in
            for (index, plane) in planes.enumerated() {
                let buffer = frame.buffer
                guard let extent = buffer.format.planeExtent(index, width: buffer.width, height: buffer.height) else {
                    fatalError("a picture has a plane too many")
                }
                for row in 0..<extent.rows { touch(plane.baseAddress + row * plane.bytesPerRow, extent.bytesPerRow) }
            }
        }
        waiting.append(frame)
        if waiting.count > 2 { code(waiting.removeFirst()) }
        if frame.options.quantizer == 51 { throw MediaError(.frameFailed, "a quantizer that this encoder fails with") }
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        configuration.allowsReordering ? .needsNewEncoder : .done(adjustments: properties.adjustments)
    }

    func drain() throws(MediaError) {
        while !waiting.isEmpty { code(waiting.removeFirst()) }
    }

    private func code(_ frame: EncoderFrame) {
        let size = Self.sizes[Int(frame.number.magnitude % UInt64(Self.sizes.count))]
        if frame.options.quantizer == 50 { return output(.failed(MediaError(.frameFailed, "as the frame asked for"))) }
        output(
            .coded(
                CodedFrame(
                    number: frame.number,
                    data: CodedData(capacity: size) { memory in
                        memory.initializeMemory(as: UInt8.self, repeating: 0x5A)
                        return size
                    },
                    isKeyFrame: frame.options.forceKeyFrame,
                    isReference: true,
                    formatDescription: frame.options.forceKeyFrame ? properties.formatDescription : nil
                )
            )
        )
    }
}

/// Makes decoders that read every byte, and return a picture for each sample.
private struct EchoDecoderFactory: DecoderFactory {
    var identity: DecoderIdentity { Seeds.decoder }

    func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend { EchoDecoder(request) }
}

private final class EchoDecoder: DecoderBackend {
    let properties = DecoderProperties(name: Seeds.decoder.name)
    private let output: @Sendable (DecoderOutput) -> Void

    init(_ request: DecoderRequest) { output = request.output }

    func decode(_ sample: DecoderSample) throws(MediaError) {
        let number = sample.number
        let first = sample.sample.data.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { touch(base, bytes.count) }
            return bytes.first ?? 0
        }
        if first == 250 { throw MediaError(.frameFailed, "a byte that this decoder fails with") }
        if first == 251 { return output(.failed(MediaError(.frameFailed, "as the sample asked for"))) }
        if first == 252 { output(.damaged(number: number, MediaError(.malformedData, "as the sample asked for"))) }
        let format = PixelFormat.allCases[Int(first) % PixelFormat.allCases.count]
        let buffer = try PixelBuffer(PixelBuffer.Description(format: format, width: 32, height: 16))
        output(.picture(DecodedPicture(number: number, buffer: buffer, isDamaged: first == 252)))
    }

    func drain() {}
}

/// The encoder of the real helper, of small pictures and on few threads: what sizes cost is no news.
private struct SmallX264Factory: EncoderFactory {
    var identity: EncoderIdentity { X264EncoderFactory().identity }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        let configuration = request.configuration
        guard configuration.width <= 64, configuration.height <= 64, configuration.software.threads == 1 else {
            throw MediaError(.unsupported, "too much for a fuzzer")
        }
        return try X264EncoderFactory().makeEncoder(request)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport
internal import MediaTypes
internal import Synchronization

@testable internal import HelperIPC

// The session's end of the protocol, whose helper says what the fuzzer wants, over real sockets.
//
// Input: a byte of manners (see `Manners`), the number of the client's steps in one byte, a byte for each step (see
// `Client`), then the helper's records, each of them a byte of form (see `Form`), and
// - a message as it is: its length in two bytes, and its bytes; or
// - a payload that gets a true header: its kind in one byte, its length in two bytes, and its bytes.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start { Seeds.all() }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    bench.play(FuzzInput(bytes, count))
    return 0
}

/// libFuzzer calls from one thread.
nonisolated(unsafe) private let bench = Bench()

/// How the two behave as a whole.
struct Manners: OptionSet {
    let rawValue: UInt8
    /// The client waits for the greeting.
    static let awaitsGreeting = Manners(rawValue: 1)
    /// The helper closes the control socket before the connection.
    static let endsControlFirst = Manners(rawValue: 2)
    /// The helper says nothing at the end of its records, if both are set: the client runs into its deadline.
    static let isSilent = Manners(rawValue: 12)
    /// The client's pictures lie in memory that the helper cannot see.
    static let ownsPictures = Manners(rawValue: 16)
    /// The client asks a driver and no encoder, over a connection that it opens itself.
    static let inspects = Manners(rawValue: 32)
}

/// What a record is.
struct Form: OptionSet {
    let rawValue: UInt8
    /// It goes over the control socket.
    static let control = Form(rawValue: 1)
    /// It has no true header.
    static let raw = Form(rawValue: 2)
    /// The helper waits for the client's next order before.
    static let waits = Form(rawValue: 4)
    /// A descriptor is sent along.
    static let descriptor = Form(rawValue: 8)
}

/// The client, and the thread of the helper.
private final class Bench {
    private let worker = Worker()
    private let attachments = Attachments()
    private let pictures = Pictures()
    private var leaks = LeakWatch()

    func play(_ input: FuzzInput) {
        var input = input
        let manners = Manners(rawValue: input.byte())
        let steps = input.bytes(Int(input.byte() & 15))
        let control = RawPeer.pair()
        let connection = manners.contains(.inspects) ? nil : RawPeer.pair()
        let script = Script(
            input: input,
            manners: manners,
            control: control.far,
            connection: connection?.far,
            attachments: attachments
        )
        worker.start { script.run() }
        let client = Client(manners, steps, pictures)
        if let connection {
            client.encode(control: control.near, connection: connection.near)
        } else {
            client.inspect(control: control.near)
        }
        worker.join()
        // A pool keeps memory for as many pictures as were in use at once.
        leaks.check { pictures.shared.trim() }
    }
}

/// What the helper says in one run.
private struct Script: Sendable {
    let input: FuzzInput
    let manners: Manners
    let control: Int32
    /// `nil` if the client opens the connection.
    let connection: Int32?
    let attachments: Attachments

    /// The orders that have an answer, by the kinds of ``EncoderClientMessage``.
    private static let orders: Set<UInt16> = [1, 4, 5, 6, 9]

    func run() {
        let control = RawPeer(owning: control)
        var connection = connection.map { RawPeer(owning: $0) }
        say(control, &connection)
        if manners.contains(.isSilent), let connection { while connection.receive(within: -1) != .end {} }
        // A helper that closes only one of them is waited for, for seconds.
        if manners.contains(.endsControlFirst) { control.finish() }
        connection?.finish()
        control.finish()
        if let connection { while connection.receive(within: -1) != .end {} }
        while control.receive(within: -1) != .end {}
    }

    private func say(_ control: RawPeer, _ connection: inout RawPeer?) {
        var input = input
        for _ in 0..<48 where !input.isEmpty {
            let form = Form(rawValue: input.byte())
            let descriptors = form.contains(.descriptor) ? attachments.set(input.byte()) : []
            let kind = form.contains(.raw) ? 0 : self.kind(input.byte(), form)
            let bytes = input.bytes(input.short())
            if connection == nil, !form.contains(.control) || form.contains(.waits) {
                while connection == nil, case .message = control.receive(within: 50, attached: &connection) {}
            }
            guard let peer = form.contains(.control) ? control : connection else { return }
            if form.contains(.waits), let connection, !awaitOrder(connection) { return }
            let message =
                form.contains(.raw) ? bytes : peer.framed(kind: kind, bytes, descriptorCount: descriptors.count)
            peer.send(message, descriptors)
        }
    }

    /// Waits until the client gives an order, for a while.
    ///
    /// - Returns: Whether it is still there.
    private func awaitOrder(_ connection: RawPeer) -> Bool {
        while true {
            switch connection.receive(within: 100) {
            case .message(let kind): if Self.orders.contains(kind) { return true }
            case .nothing: return true
            case .end: return false
            }
        }
    }

    private func kind(_ byte: UInt8, _ form: Form) -> UInt16 {
        form.contains(.control) ? 193 + UInt16(byte & 1) : 65 + UInt16(byte & 15)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes
internal import Synchronization

// How a test is told what its scripted encoders in helper processes do: over a socket of their own, which no part of the
// package knows of. Each line from the encoder is answered by one byte when it may go on, so a test sees calls in the
// order, and before the consequences, that they have; a call that hangs is one whose answer does not come. The end of the
// socket is the end of the encoder, however it came.

/// A witness to whom an encoder in another process may get lost while it hangs.
package protocol RemoteEncoderWitness: EncoderWitness {
    /// - Parameter goOn: Called when calls that hang are released, perhaps at once.
    /// - Returns: A name for ``endHang(_:)``; `nil` if it was called at once.
    func beginHang(_ goOn: @escaping @Sendable () -> Void) -> Int?
    /// The call that hangs is gone with its process.
    func endHang(_ hang: Int)
}

/// The test's side: listens to all encoders in helper processes.
package final class Backstage: Sendable {
    package static let shared = Backstage()

    private struct State {
        var tickets = 0
        var expected: [Int: any RemoteEncoderWitness] = [:]
    }

    private let state = Mutex(State())
    private let address = "vatoolbox-backstage-\(getpid())"

    private init() {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let isBound = withSocketAddress(address) { bind(listener, $0, $1) } == 0
        precondition(isBound && listen(listener, 1000) == 0, "no socket for scripted encoders")
        try? PlainThread.start(name: "backstage") {
            while true {
                let number = accept(listener, nil, nil)
                guard number >= 0 else { continue }
                _ = fcntl(number, F_SETFD, FD_CLOEXEC)
                try? PlainThread.start(name: "backstage") { self.attend(LineSocket(number)) }
            }
        }
    }

    /// Expects an encoder while `body` runs; it must have called by then, if at all.
    package func withTicket<Result>(
        for witness: any RemoteEncoderWitness,
        _ body: (_ address: String, _ ticket: Int) throws(MediaError) -> Result
    ) throws(MediaError) -> Result {
        let ticket = state.withLock { state in
            state.tickets += 1
            state.expected[state.tickets] = witness
            return state.tickets
        }
        defer { state.withLock { $0.expected[ticket] = nil } }
        return try body(address, ticket)
    }

    private func attend(_ socket: LineSocket) {
        guard let ticket = socket.line().flatMap({ Int($0) }),
            let witness = state.withLock({ $0.expected.removeValue(forKey: ticket) })
        else { return }
        socket.answer()
        var isAlive = false
        var hang: Int?
        while let line = socket.line() {
            let words = line.split(separator: " ")
            switch (words.first, words.count > 1 ? Int64(words[1]) : nil) {
            case ("encode", let number?): witness.note(.encode(number: number))
            case ("update", let rate?): witness.note(.update(bitRate: Int(rate)))
            case ("drain", _): witness.note(.drain)
            case ("born", _):
                witness.born()
                isAlive = true
            case ("died", _):
                witness.died()
                isAlive = false
            case ("hang", _):
                hang = witness.beginHang { socket.answer() }
                continue
            default: preconditionFailure("a scripted encoder said \(line)")
            }
            socket.answer()
        }
        if let hang { witness.endHang(hang) }
        if isAlive { witness.died() }
    }
}

/// The helper's side of one encoder.
package final class RemoteWitness: EncoderWitness {
    private let socket: Mutex<LineSocket>

    /// - Throws: `unavailable` if the test does not wait for that encoder (any more).
    package init(_ part: RemotePart) throws(MediaError) {
        let number = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let line = LineSocket(number)
        let isConnected = withSocketAddress(part.address) { connect(number, $0, $1) } == 0
        guard isConnected, line.ask("\(part.ticket)") else {
            throw MediaError(.unavailable, "no test waits for this encoder", given: "\(part.ticket)")
        }
        socket = Mutex(line)
    }

    package func note(_ call: ScriptedCall) {
        switch call {
        case .encode(let number): tell("encode \(number)")
        case .drain: tell("drain")
        case .update(let bitRate): tell("update \(bitRate)")
        }
    }

    package func born() { tell("born") }
    package func died() { tell("died") }
    package func hang() { tell("hang") }

    /// Without a test at the other end there is nobody to tell.
    private func tell(_ line: String) { socket.withLock { _ = $0.ask(line) } }
}

/// A stream socket on which one side sends lines and the other answers each with a byte.
private final class LineSocket: Sendable {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }

    /// - Returns: Whether it was answered.
    func ask(_ line: String) -> Bool {
        let bytes = Array("\(line)\n".utf8)
        var answer: UInt8 = 0
        return send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count && read(number, &answer, 1) == 1
    }

    func answer() {
        var byte: UInt8 = 1
        _ = send(number, &byte, 1, Int32(MSG_NOSIGNAL))
    }

    /// The next line, without its end; `nil` at the end. Nothing is read beyond it, since nothing comes before an answer.
    func line() -> String? {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(number, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<(count - 1)], as: UTF8.self)
    }
}

/// Calls `body` with an address in Linux's abstract namespace: it stands in no folder and ends with its socket.
private func withSocketAddress<Result>(
    _ name: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { path in
        for (index, byte) in name.utf8.enumerated() { path[index + 1] = byte }
    }
    let length = MemoryLayout<sa_family_t>.size + 1 + name.utf8.count
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
}

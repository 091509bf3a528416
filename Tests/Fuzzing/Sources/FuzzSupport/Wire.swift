// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

@testable internal import HelperIPC

/// One end of a socket that says anything: messages with and without a true header, and descriptors.
package final class RawPeer {
    /// The socket.
    package let number: Int32
    private var sequence: UInt64 = 0
    private var buffer = [UInt8](repeating: 0, count: MessageHeader.byteCount + MessageHeader.maximumPayload)

    /// Takes over a socket.
    package init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Both ends of a socket that keeps messages apart.
    package static func pair() -> (near: Int32, far: Int32) {
        var numbers: [Int32] = [-1, -1]
        guard linux_message_sockets(&numbers) == 0 else { fatalError("no sockets are left") }
        return (numbers[0], numbers[1])
    }

    /// Puts a header before a payload, with everything in it as it has to be.
    package func framed(kind: UInt16, _ payload: [UInt8], descriptorCount: Int) -> [UInt8] {
        var writer = WireWriter()
        MessageHeader(
            kind: kind,
            descriptorCount: UInt16(clamping: descriptorCount),
            payloadLength: UInt32(clamping: payload.count),
            sequence: sequence
        ).write(to: &writer)
        return writer.bytes + payload
    }

    /// Sends bytes as they are, without waiting.
    ///
    /// - Returns: Whether they are on their way.
    @discardableResult package func send(_ bytes: [UInt8], _ descriptors: [Int32] = []) -> Bool {
        let count = linux_send_message(number, bytes, bytes.count, descriptors, Int32(descriptors.count))
        if count >= 0 { sequence += 1 }
        return count >= 0
    }

    /// What came in.
    package enum Arrival: Equatable {
        /// A message of that kind; 0 if there is no kind in it. Descriptors that came along are closed.
        case message(UInt16)
        /// There is nothing, and there will be nothing.
        case end
        /// There is nothing yet.
        case nothing
    }

    /// Takes the next message.
    ///
    /// - Parameter milliseconds: How long it is waited for; -1 for as long as it takes.
    package func receive(within milliseconds: Int32) -> Arrival {
        var none: RawPeer?
        return receive(within: milliseconds, attached: &none)
    }

    /// Takes the next message and the socket that came along, if one did.
    package func receive(within milliseconds: Int32, attached: inout RawPeer?) -> Arrival {
        var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return .nothing }
        var numbers = [Int32](repeating: -1, count: Int(LINUX_MESSAGE_DESCRIPTORS))
        var count: Int32 = 0
        let length = buffer.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { linux_receive_message(number, 0, $0, buffer.count, &numbers, &count) } ?? 0
        }
        attached = count > 0 ? RawPeer(owning: numbers[0]) : nil
        numbers.prefix(Int(count)).dropFirst().forEach { close($0) }
        if length < 0 { return errno == EAGAIN ? .nothing : .end }
        if length == 0 { return .end }
        return .message(length < 8 ? 0 : UInt16(buffer[6]) | UInt16(buffer[7]) << 8)
    }

    /// Says nothing more; the other end finds the end of the messages.
    package func finish() { shutdown(number, Int32(SHUT_WR)) }

    /// Says nothing more, and waits until the other end has closed.
    package func finishAndWait() {
        finish()
        while receive(within: -1) != .end {}
    }
}

/// What the fuzzer sends along: descriptors of every kind, made once.
package struct Attachments: Sendable {
    private let sets: [[Int32]]

    /// Makes them.
    package init() {
        func memory(_ byteCount: Int, isSealed: Bool = true) -> Int32 {
            let number = linux_memfd_create("fuzz")
            guard number >= 0, ftruncate(number, byteCount) == 0, !isSealed || linux_seal_size(number) == 0 else {
                fatalError("shared memory cannot be created")
            }
            return number
        }
        var pipe: [Int32] = [-1, -1]
        guard linux_pipe(&pipe) == 0 else { fatalError("a pipe cannot be created") }
        let (small, large) = (memory(4096), memory(65536))
        sets = [
            [], [small], [large], [memory(100)], [memory(65536, isSealed: false)], [pipe[0]], [small, large],
            [small, large, pipe[1], small],
        ]
    }

    /// How many choices there are.
    package var count: Int { sets.count }

    /// The descriptors of a choice.
    package func set(_ choice: UInt8) -> [Int32] { sets[Int(choice) % sets.count] }

    /// The choice of a sealed memory of 4096 and of 65536 bytes.
    package static let smallMemory: UInt8 = 1
    package static let largeMemory: UInt8 = 2
}

/// Random messages of every kind, for seeds.
package enum RandomMessages {
    /// Whole messages with the number 0, each behind the number of descriptors that belong to it.
    package static func all(seed: UInt64) -> [(bytes: [UInt8], descriptorCount: Int)] {
        var random = SeededGenerator(seed: seed)
        return random.allMessages().compactMap { message in
            (try? message.bytes(sequence: 0)).map { ($0, message.descriptorCount) }
        }
    }
}

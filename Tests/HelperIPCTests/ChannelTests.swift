// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import MediaTypes
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Messages and descriptors from one end of a socket to the other. Descriptors are counted, so one test after another.
    @Suite struct ChannelTests {
        private let client: Channel
        private let helper: Channel

        init() throws {
            let pair = try DescriptorPair.sockets()
            let far = try Descriptor.duplicate(pair.far.number)
            client = Channel(try Descriptor.duplicate(pair.near.number), peer: "the helper")
            helper = Channel(far, peer: "the client")
        }

        @Test func messagesArriveInOrderWithTheirDescriptors() throws {
            var (file, other) = (stat(), stat())
            let pipe = try DescriptorPair.pipe()
            try client.send(EncoderClientMessage.drain)
            let offer = EncoderClientMessage.offer(MemoryOffer(slot: 7, byteCount: 9))
            try client.send(offer, descriptor: pipe.near.number)
            let first = try #require(try kind(helper))
            #expect(first == EncoderClientMessage.Kind.drain.rawValue)
            var received: Descriptor?
            let second = try #require(try helper.receive(EncoderClientMessage.self, descriptor: &received))
            #expect(StoredProperties(second) == StoredProperties(offer))
            guard let received else {
                Issue.record("no descriptor")
                return
            }
            let number = received.number
            #expect(number != pipe.near.number)
            let statuses = [fstat(number, &file), fstat(pipe.near.number, &other)]
            #expect(statuses == [0, 0] && file.st_ino == other.st_ino)
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        }

        @Test func severalDescriptorsArriveInTheirOrder() throws {
            let pipe = try DescriptorPair.pipe()
            let numbers = [pipe.far.number, pipe.near.number, pipe.far.number, pipe.near.number]
            let notice = ExportNotice(objectCount: 4, planes: [], modifier: 7)
            try helper.send(PictureHelperMessage.exported(notice), descriptors: numbers)
            try helper.send(PictureHelperMessage.fetched)
            var received: [SharedDescriptor] = []
            let first = try client.receive(PictureHelperMessage.self, &received, waits: true)
            guard case .message(.exported(notice)) = first else {
                Issue.record("another message")
                return
            }
            // Each end of a pipe has its own access.
            let access = received.map { fcntl($0.number, F_GETFL) & O_ACCMODE }
            #expect(access == [O_WRONLY, O_RDONLY, O_WRONLY, O_RDONLY])
            #expect(received.allSatisfy { fcntl($0.number, F_GETFD) & FD_CLOEXEC != 0 })
            #expect(openDescriptorsOfPipe(pipe.near.number) == 6)
            guard case .message(.fetched) = try client.receive(PictureHelperMessage.self, &received, waits: true) else {
                Issue.record("another message")
                return
            }
            #expect(received.isEmpty && openDescriptorsOfPipe(pipe.near.number) == 2)
            let error = #expect(throws: MediaError.self) {
                let many = ExportNotice(objectCount: 5, planes: [], modifier: 7)
                try helper.send(PictureHelperMessage.exported(many), descriptors: numbers + [pipe.near.number])
            }
            #expect(error?.status == Int(EINVAL))
        }

        private func kind(_ channel: Channel, within patience: Duration = .seconds(20)) throws -> UInt16? {
            try channel.receive(EncoderClientMessage.self, until: .after(patience))?.kind
        }

        @Test func theEndIsSeenBehindTheLastMessage() throws {
            try client.send(EncoderClientMessage.close)
            client.shutDown()
            #expect(try kind(helper) == EncoderClientMessage.Kind.close.rawValue)
            #expect(try kind(helper) == nil)
            let error = #expect(throws: MediaError.self) { try helper.send(EncoderHelperMessage.drained) }
            #expect(error?.status == Int(EPIPE))
        }

        @Test func waitingHasALimit() throws {
            #expect(throws: MediaError(.deadlineExceeded, "the client sent no message", call: "recvmsg")) {
                try kind(helper, within: .milliseconds(20))
            }
            let error = #expect(throws: MediaError.self) {
                while true { try client.send(EncoderClientMessage.drain, until: .after(.milliseconds(20))) }
            }
            #expect(error?.code == .deadlineExceeded)
            // What was sent before is there, and nothing of the last one.
            var count = 0
            while (try? kind(helper, within: .zero)) != nil { count += 1 }
            #expect(count > 0)
            try client.send(EncoderClientMessage.close)
            #expect(try kind(helper) == EncoderClientMessage.Kind.close.rawValue)
        }

        /// Whatever comes that is no message is refused, and the descriptors that came with it are closed.
        @Test(arguments: 0..<6) func descriptorsOfRefusedMessagesAreClosed(_ descriptorCount: Int) throws {
            let pair = try DescriptorPair.sockets()
            let receiver = Channel(try Descriptor.duplicate(pair.far.number), peer: "the client")
            let pipe = try DescriptorPair.pipe()
            var bytes = try EncoderClientMessage.offer(MemoryOffer(slot: 0, byteCount: 0)).bytes(sequence: 0)
            if descriptorCount == 1 { bytes[7] = 99 }
            if descriptorCount == 5 { bytes += Array(repeating: 0, count: 200_000) }
            let numbers = Array(repeating: pipe.near.number, count: min(descriptorCount, 4))
            var size = Int32(1 << 20)
            setsockopt(pair.near.number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            let sent = linux_send_message(pair.near.number, bytes, bytes.count, numbers, Int32(numbers.count))
            guard sent == bytes.count else { return #expect(descriptorCount == 5 && errno == EMSGSIZE) }
            let before = openDescriptorsOfPipe(pipe.near.number)
            #expect(throws: MediaError.self) { try kind(receiver) }
            #expect(openDescriptorsOfPipe(pipe.near.number) == before)
            #expect(before == 2)
        }

        /// How many descriptors of this process are of the same pipe.
        private func openDescriptorsOfPipe(_ number: Int32) -> Int {
            var (file, other) = (stat(), stat())
            fstat(number, &file)
            return (0..<1024).count {
                fstat($0, &other) == 0 && other.st_ino == file.st_ino && other.st_dev == file.st_dev
            }
        }
    }
}

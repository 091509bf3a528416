// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLinux
import Foundation
import Glibc
import MediaTypes
import TestSupport
import Testing

@testable import HelperIPC

/// The pictures of a helper, as it answers orders about them.
private typealias FakePictures = FakePeer<PictureMessages>

/// Memory to send.
private enum Memory {
    case sealed(Int)
    case unsealed(Int)
    case pipe
    case folder

    func make() throws -> Descriptor {
        switch self {
        case .sealed(let byteCount):
            return try SharedMapping.makeMemory(named: ExportedPlanes.name, byteCount: byteCount)
        case .unsealed(let byteCount):
            let path = NSTemporaryDirectory() + "vatoolbox-export-" + UUID().uuidString
            let descriptor = Descriptor(owning: open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
            unlink(path)
            #expect(ftruncate(descriptor.number, byteCount) == 0)
            return descriptor
        case .pipe:
            let pipe = try DescriptorPair.pipe()
            let end = try Descriptor.duplicate(pipe.near.number)
            pipe.near.keepOpen()
            return end
        case .folder: return Descriptor(owning: open("/tmp", O_RDONLY | O_CLOEXEC))
        }
    }
}

extension FakePeer<PictureMessages> {
    /// Waits for an order to export the picture of the test.
    fileprivate func waitForOrder() throws {
        guard case .export(id: 3) = try receive() else {
            Issue.record("another order")
            return
        }
    }

    fileprivate func export(_ planes: [DMABuffer.Plane], in memory: [Memory], stated: Int? = nil) throws {
        let objects = try memory.map { SharedDescriptor(try $0.make()) }
        let notice = ExportNotice(objectCount: stated ?? objects.count, planes: planes, modifier: 0)
        try? channel.send(PictureHelperMessage.exported(notice), descriptors: objects.map(\.number))
    }
}

extension ProcessTests {
    /// A helper that exports a picture of 32x16 samples in NV12, of which it says what cannot be.
    @Suite struct LyingExportTests {
        private static func plane(_ object: Int, _ offset: Int, _ bytesPerRow: Int) -> DMABuffer.Plane {
            DMABuffer.Plane(object: object, layout: PlaneLayout(offset: offset, bytesPerRow: bytesPerRow))
        }

        private static let planes = [plane(0, 0, 32), plane(0, 512, 32)]

        /// Exports the picture of a helper.
        private func export(_ script: @escaping FakePictures.Script) throws -> PixelBuffer {
            let control = try DescriptorPair.sockets()
            let far = Channel(try Descriptor.duplicate(control.far.number), peer: "the client")
            Thread {
                do {
                    var descriptor: Descriptor?
                    while let order = try far.receive(ControlOrder.self, descriptor: &descriptor) {
                        switch order {
                        case .attach(.pictures):
                            if let socket = descriptor.take() { _ = FakePictures(socket, script: script) }
                        case .attach:
                            if let socket = descriptor.take() {
                                _ = FakePeer<DecoderMessages>(socket) { try Self.decode($0) }
                            }
                        case .hello: try far.send(ControlNotice.hello(Greeting(build: "fake")))
                        case .close: return
                        }
                    }
                } catch {
                    Issue.record(error)
                }
            }
            .start()
            let host = try HelperHost.adopt(try Descriptor.duplicate(control.near.number))
            let outputs = DecoderOutputs()
            var options = RemoteDecoderFactory.Options()
            options.deadlines.fetch = .seconds(20)
            let request = DecoderRequest(
                formatDescription: EchoPicture(seed: 0).formatDescription,
                devicePictureLimit: 2
            ) { outputs.add($0) }
            let identity = DecoderIdentity(name: "fake", codec: .h264, device: "/dev/dri/renderD128")
            let decoder = try RemoteDecoder(identity, request, options) { (handlers) throws(MediaError) in
                #expect(host.reserve(limit: 1))
                return try host.connect(handlers)
            }
            try decoder.decode(EchoPicture(seed: 0).sample(0))
            let picture = try #require(outputs.take(1).first)
            return try picture.buffer.exportDMABuf()
        }

        /// A decoder that leaves its only picture on the device.
        private static func decode(_ helper: FakePeer<DecoderMessages>) throws {
            _ = try helper.receive()
            helper.send(.created(DecoderProperties(name: "fake", threadCount: 1)))
            while let message = try helper.receive() {
                guard case .sample = message else { continue }
                let notice = DevicePictureNotice(
                    number: 0,
                    id: 3,
                    device: "/dev/dri/renderD128",
                    picture: PixelBuffer.Description(format: .nv12, width: 32, height: 16),
                    isDamaged: false
                )
                helper.send(.devicePicture(notice), .accepted(number: 0))
            }
        }

        @Test func anHonestOneIsBelieved() throws {
            for (planes, memory) in [
                (Self.planes, [Memory.sealed(768)]),
                ([Self.plane(0, 0, 32), Self.plane(1, 4096, 64)], [.sealed(512), .sealed(4096 + 480)]),
            ] {
                let picture = try export { helper in
                    try helper.waitForOrder()
                    try helper.export(planes, in: memory)
                    _ = try helper.receive()
                }
                try picture.withPlanes { planes in #expect(planes.count == 2) }
                guard case .dmaBuf(let exported) = picture.storage else {
                    Issue.record("\(picture.storage.name)")
                    return
                }
                #expect(exported.planes == planes && exported.fileDescriptors.count == memory.count)
            }
            #expect(Patience.block { ExportedPlanes.count == 0 })
            Traces.expectNone()
        }

        private static func lie(
            _ name: String,
            _ planes: [DMABuffer.Plane] = planes,
            in memory: [Memory] = [.sealed(768)],
            stated: Int? = nil
        ) -> Lie<PictureMessages> {
            Lie(name) { helper in
                try helper.waitForOrder()
                try helper.export(planes, in: memory, stated: stated)
                while try helper.receive() != nil {}
            }
        }

        private static let lies: [Lie<PictureMessages>] = [
            lie("no memory", in: []), lie("no planes", []), lie("one plane", [plane(0, 0, 32)]),
            lie("three planes", planes + [plane(0, 0, 32)]),
            lie("fewer objects than it says", in: [.sealed(768)], stated: 2),
            lie("more objects than it says", in: [.sealed(768), .sealed(768)], stated: 1),
            lie("a negative number of objects", stated: -1), lie("endless objects", stated: .max),
            lie("another object", [plane(0, 0, 32), plane(1, 512, 32)]),
            lie("a negative object", [plane(-1, 0, 32), plane(0, 512, 32)]),
            lie("an offset beyond the end", [plane(0, 0, 32), plane(0, 513, 32)]),
            lie("a negative offset", [plane(0, -32, 32), plane(0, 512, 32)]),
            lie("an endless offset", [plane(0, .max, 32), plane(0, 512, 32)]),
            lie("short rows", [plane(0, 0, 31), plane(0, 512, 32)]),
            lie("long rows", [plane(0, 0, 64), plane(0, 512, 32)]),
            lie("endless rows", [plane(0, 0, .max), plane(0, 512, 32)]),
            lie("backward rows", [plane(0, 512, -32), plane(0, 512, 32)]),
            lie("small memory", in: [.sealed(767)]), lie("memory that may be truncated", in: [.unsealed(768)]),
            lie("a pipe", in: [.pipe]), lie("a folder", in: [.folder]),
            lie("a pipe that no plane is in", in: [.sealed(768), .pipe]),
            Lie("another answer") { helper in
                try helper.waitForOrder()
                helper.send(.fetched)
                while try helper.receive() != nil {}
            },
            Lie("two answers") { helper in
                try helper.waitForOrder()
                helper.send(.fetched, .fetched)
                while try helper.receive() != nil {}
            },
            Lie("an answer before the order") { helper in
                helper.send(.fetched)
                while try helper.receive() != nil {}
            },
        ]

        @Test(arguments: lies) func aLieIsRefused(lie: Lie<PictureMessages>) throws {
            let error = #expect(throws: MediaError.self) { try export(lie.script) }
            #expect(error?.code == .malformedData, "\(error.map { "\($0)" } ?? "")")
            #expect(Patience.block { ExportedPlanes.count == 0 })
            Traces.expectNone()
        }

        /// A client that asks for what is not there gets an error, and goes on.
        @Test func exportsOfOtherPicturesAreRefused() throws {
            let sockets = try DescriptorPair.sockets()
            let client = Channel(try Descriptor.duplicate(sockets.near.number), peer: "the helper")
            let server = Channel(try Descriptor.duplicate(sockets.far.number), peer: "the client")
            let pictures = DevicePictures()
            let inMemory = pictures.add(try EchoPicture(seed: 0).buffer())
            try client.send(PictureClientMessage.export(id: inMemory + 1))
            try client.send(PictureClientMessage.export(id: .max))
            try client.send(PictureClientMessage.export(id: inMemory))
            try client.send(PictureClientMessage.close)
            try PictureServer(server, pictures).run()
            for code in [MediaError.Code.malformedData, .malformedData, .unsupported] {
                guard case .callFailed(let error) = try client.receive(PictureHelperMessage.self) else {
                    Issue.record("another answer")
                    return
                }
                #expect(error.code == code)
            }
        }

        /// The descriptor of a process is a file without a name, as DMA-BUFs were in older kernels.
        @Test func othersAreNoMemoryOfFixedSize() throws {
            let memory = try SharedMapping.makeMemory(named: ExportedPlanes.name, byteCount: 4096)
            #expect(SharedMapping.hasFixedSize(memory.number))
            let file = try Memory.unsealed(4096).make()
            #expect(!SharedMapping.hasFixedSize(file.number))
            let process = Descriptor(owning: linux_process_open(getpid()))
            #expect(process.number >= 0 && !SharedMapping.hasFixedSize(process.number))
            #expect(!SharedMapping.hasFixedSize(-1))
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import Foundation
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

/// What happens in the helper of a test, which is in this process.
private final class TestDevice: Sendable {
    /// The surfaces that exist.
    let surfaces = Atomic(0)
    let decoders = Atomic(0)
    /// The encoder's first frame waits for it.
    let gate = DispatchSemaphore(value: 0)
    let isEntered = Atomic(false)
    let isCopying = Atomic(false)
    /// Copies and exports of surfaces wait for it.
    let copies: DispatchSemaphore?
    /// What becomes of exports.
    let refusal = Mutex<MediaError?>(nil)
    /// The numbers of the frames whose pictures the encoder has read.
    let read = Mutex<[Int64]>([])
    let log = Mutex<[String]>([])

    init(blocksCopies: Bool = false) { copies = blocksCopies ? DispatchSemaphore(value: 0) : nil }
}

private final class TestSurface: DeviceSurface {
    let device = "/dev/dri/renderD128"
    private let picture: EchoPicture
    private let owner: TestDevice

    init(_ picture: EchoPicture, _ owner: TestDevice) {
        self.picture = picture
        self.owner = owner
        owner.surfaces.add(1, ordering: .acquiringAndReleasing)
    }

    deinit { owner.surfaces.subtract(1, ordering: .acquiringAndReleasing) }

    var isReadable: Bool { true }

    func copy(_ description: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        owner.isCopying.store(true, ordering: .releasing)
        owner.copies?.wait()
        owner.copies?.signal()
        return try picture.buffer()
    }

    /// Returns a DMA-BUF with an object for each plane.
    func export(_ description: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        owner.copies?.wait()
        owner.copies?.signal()
        if let refusal = owner.refusal.withLock({ $0 }) { throw refusal }
        let source = try picture.buffer()
        var objects: [SharedDescriptor] = []
        var planes: [DMABuffer.Plane] = []
        for (index, extent) in source.planeExtents.enumerated() {
            let byteCount = (extent.bytesPerRow + 32) * extent.rows + 4096
            let memory = try SharedMapping.makeMemory(named: ExportedPlanes.name, byteCount: byteCount)
            let mapping = try SharedMapping(memory, byteCount: byteCount, access: .readWrite)
            try source.withPlanes { planes in
                for row in 0..<extent.rows {
                    (mapping.base + 4096 + row * (extent.bytesPerRow + 32)).copyMemory(
                        from: planes[index].baseAddress + row * planes[index].bytesPerRow,
                        byteCount: extent.bytesPerRow
                    )
                }
            }
            let layout = PlaneLayout(offset: 4096, bytesPerRow: extent.bytesPerRow + 32)
            planes.append(DMABuffer.Plane(object: index, layout: layout))
            objects.append(SharedDescriptor(memory))
        }
        let buffer = DMABuffer(fileDescriptors: objects.map(\.number), planes: planes, modifier: 0)
        return try PixelBuffer(description, dmaBuf: buffer) { [objects] in withExtendedLifetime(objects) {} }
    }
}

/// The memory of exported planes in this process.
enum ExportedPlanes {
    static let name = "test-exported-plane"

    /// The number of descriptors.
    static var count: Int {
        ProcessFiles.names("/proc/self/fd").count { number in
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            return file?.contains(name) == true
        }
    }
}

/// Leaves echo pictures on the device.
private final class TestDecoder: DecoderBackend {
    struct Factory: DecoderFactory {
        let device: TestDevice
        let identity = DecoderIdentity(name: "surfaces", codec: .h264, device: "/dev/dri/renderD128")
        func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
            TestDecoder(device, request)
        }
    }

    let properties = DecoderProperties(name: "surfaces")
    private let device: TestDevice
    private let request: DecoderRequest

    init(_ device: TestDevice, _ request: DecoderRequest) {
        self.device = device
        self.request = request
        device.decoders.add(1, ordering: .acquiringAndReleasing)
    }

    deinit { device.decoders.subtract(1, ordering: .acquiringAndReleasing) }

    func decode(_ sample: DecoderSample) throws(MediaError) {
        guard let picture = EchoPicture(sample.sample.data) else {
            throw MediaError(.malformedData, "this is no sample of an echo decoder")
        }
        let buffer = try PixelBuffer(picture.description, surface: TestSurface(picture, device))
        request.output(.picture(DecodedPicture(number: sample.number, buffer: buffer)))
    }

    func drain() {}
}

/// Reads the surfaces in place. Its first frame waits for the test.
private final class TestEncoder: EncoderBackend {
    struct Factory: EncoderFactory {
        let device: TestDevice
        let identity = EncoderIdentity(name: "reader", codec: .h264)
        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            TestEncoder(device, request)
        }
    }

    let properties = FakeHelper.properties
    private let device: TestDevice
    private let request: EncoderRequest

    init(_ device: TestDevice, _ request: EncoderRequest) {
        self.device = device
        self.request = request
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        if frame.number == 0 {
            device.isEntered.store(true, ordering: .releasing)
            device.gate.wait()
        }
        guard case .deviceSurface(let surface) = frame.buffer.storage, surface is TestSurface else {
            throw MediaError(.frameFailed, "the picture is not on the device", given: frame.buffer.storage.name)
        }
        device.read.withLock { $0.append(frame.number) }
        let data = CodedData([1, 2, 3, 4, 5, 6, 7, 8])
        request.output(.coded(CodedFrame(number: frame.number, data: data, isKeyFrame: true, isReference: true)))
    }

    func update(_ configuration: EncoderConfiguration) -> EncoderUpdateOutcome { .done() }
    func drain() {}
}

/// A client and the helper with the device.
private struct Rig {
    let device: TestDevice
    let host: HelperHost

    init(_ device: TestDevice = TestDevice()) throws {
        self.device = device
        let control = try DescriptorPair.sockets()
        var services = HelperServices(encoders: [TestEncoder.Factory(device: device)])
        services.decoders = [TestDecoder.Factory(device: device)]
        let server = HelperServer(
            Channel(try Descriptor.duplicate(control.far.number), peer: "the client"),
            services: services
        )
        Thread { try? server.run() }.start()
        host = try HelperHost.adopt(try Descriptor.duplicate(control.near.number)) { line in
            device.log.withLock { $0.append(line.text) }
        }
        // Kept until the end of the test, so that the helper does not end with one of its connections.
        #expect(host.reserve(limit: 1))
    }

    func end() { host.release() }

    func decoder(
        _ outputs: DecoderOutputs,
        limit: Int = 8,
        _ change: (inout RemoteDecoderFactory.Options) -> Void = { _ in }
    ) throws(MediaError) -> RemoteDecoder {
        var options = RemoteDecoderFactory.Options()
        options.deadlines.call = .seconds(600)
        change(&options)
        let request = DecoderRequest(
            formatDescription: EchoPicture(width: 96, height: 64, seed: 0).formatDescription,
            devicePictureLimit: limit
        ) { outputs.add($0) }
        return try RemoteDecoder(TestDecoder.Factory(device: device).identity, request, options) {
            (handlers) throws(MediaError) in
            #expect(host.reserve(limit: 8))
            return try host.connect(handlers)
        }
    }

    func encoder(_ outputs: Take.Outputs) throws(MediaError) -> RemoteEncoder {
        let request = EncoderRequest(
            configuration: .small(),
            maximumReorderDepth: 2,
            taken: { _ in },
            output: { outputs.add($0) }
        )
        return try RemoteEncoder(TestEncoder.Factory(device: device).identity, request, .init()) {
            (handlers) throws(MediaError) in
            #expect(host.reserve(limit: 8))
            return try host.connect(handlers)
        }
    }

    /// Whether nothing is left on the device.
    func isEmpty() -> Bool { Patience.block { device.surfaces.load(ordering: .acquiring) == 0 } }
}

extension RemoteDecoder {
    /// Decodes pictures for encoders of the test, and returns them.
    fileprivate func pictures(_ numbers: Range<Int64>, _ outputs: DecoderOutputs) throws -> [PixelBuffer] {
        for number in numbers { try decode(EchoPicture(width: 96, height: 64, seed: UInt64(number)).sample(number)) }
        return outputs.take(numbers.count).map(\.buffer)
    }
}

extension ProcessTests {
    /// Pictures that stay on the device of a helper, which is in this process.
    @Suite(.timeLimit(.minutes(60))) struct DevicePictureTests {
        private func frame(_ number: Int64, _ buffer: PixelBuffer) -> EncoderFrame {
            EncoderFrame(number: number, buffer: buffer, presentationTime: MediaTime(value: number, timescale: 30))
        }

        /// An order that names a picture is on the way when its decoder is cancelled and released.
        @Test(arguments: [false, true]) func ordersUnderWayOutliveTheDecoder(isCancelled: Bool) throws {
            let rig = try Rig()
            let (decoded, coded) = (DecoderOutputs(), Take.Outputs())
            var decoder: RemoteDecoder? = try rig.decoder(decoded)
            var pictures = try #require(decoder).pictures(0..<3, decoded)
            try #require(pictures.count == 3)
            let encoder = try rig.encoder(coded)
            for number in 0..<2 { try encoder.encode(frame(Int64(number), pictures[number])) }
            #expect(Patience.block { rig.device.isEntered.load(ordering: .acquiring) })
            if isCancelled { decoder?.cancel() }
            decoder = nil
            #expect(Patience.block { rig.device.decoders.load(ordering: .acquiring) == 0 })
            // Those that are left can still be read in place, and copied.
            try encoder.encode(frame(2, pictures[2]))
            #expect(try EchoPicture(width: 96, height: 64, seed: 1).isEqual(to: pictures[1]))
            pictures = []
            rig.device.gate.signal()
            try encoder.drain()
            #expect(coded.frames.map(\.number) == [0, 1, 2] && coded.errors.isEmpty)
            #expect(rig.device.read.withLock { $0 } == [0, 1, 2] && encoder.copiedPictures == 0)
            #expect(rig.isEmpty())
            rig.end()
        }

        /// A few releases wait for the next sample, which does not come.
        @Test(arguments: [false, true]) func aDecoderEndsWithReleasesThatWereNotSent(isCancelled: Bool) throws {
            let rig = try Rig()
            let decoded = DecoderOutputs()
            var decoder: RemoteDecoder? = try rig.decoder(decoded, limit: 32)
            var pictures = try #require(decoder).pictures(0..<3, decoded)
            try #require(pictures.count == 3)
            pictures = []
            #expect(rig.device.surfaces.load(ordering: .acquiring) == 3)
            if isCancelled { decoder?.cancel() }
            decoder = nil
            #expect(rig.isEmpty())
            // Otherwise the end was waited for in vain.
            #expect(rig.host.isOpen)
            rig.end()
        }

        /// An encoder is released while orders that name pictures are on the way to it.
        @Test func picturesAreReleasedAfterTheirEncoder() throws {
            let rig = try Rig()
            let (decoded, coded) = (DecoderOutputs(), Take.Outputs())
            let decoder = try rig.decoder(decoded)
            let ended = DispatchSemaphore(value: 0)
            let box = EncoderBox(try rig.encoder(coded))
            weak let known = box.encoder
            var pictures = try decoder.pictures(0..<2, decoded)
            for number in 0..<2 { try box.encoder?.encode(frame(Int64(number), pictures[number])) }
            pictures = []
            #expect(Patience.block { rig.device.isEntered.load(ordering: .acquiring) })
            Thread {
                box.release()
                ended.signal()
            }.start()
            #expect(Patience.block { known == nil })
            // The helper has handled all that came before on this connection.
            _ = try decoder.pictures(2..<3, decoded)
            rig.device.gate.signal()
            ended.wait()
            #expect(rig.isEmpty())
            #expect(rig.device.read.withLock { $0 } == [0, 1])
            #expect(rig.device.log.withLock { $0 } == [])
            rig.end()
        }

        /// A picture that cannot be copied ends the wait and the helper, however long a decoder may take.
        @Test func aCopyHasADeadlineOfItsOwn() throws {
            let rig = try Rig(TestDevice(blocksCopies: true))
            let decoded = DecoderOutputs()
            let decoder = try rig.decoder(decoded) { $0.deadlines.fetch = .milliseconds(200) }
            let picture = try #require(try decoder.pictures(0..<1, decoded).first)
            let error = #expect(throws: MediaError.self) { try picture.withPlanes { _ in } }
            #expect(error?.code == .pictureLost && error?.isPermanent == true)
            #expect(error?.message.contains("did not copy a picture in time") == true, "\(error?.message ?? "")")
            rig.device.copies?.signal()
            rig.end()
        }

        /// The decoder is cancelled while a driver copies one of its pictures, which the copy then still gets.
        @Test func aCancellationDoesNotWaitForACopy() throws {
            let rig = try Rig(TestDevice(blocksCopies: true))
            let decoded = DecoderOutputs()
            var decoder: RemoteDecoder? = try rig.decoder(decoded)
            let pictures = try #require(decoder).pictures(0..<1, decoded)
            let picture = try #require(pictures.first)
            let copied = Mutex(false)
            let ended = DispatchSemaphore(value: 0)
            Thread {
                let isEqual = try? EchoPicture(width: 96, height: 64, seed: 0).isEqual(to: picture)
                copied.withLock { $0 = isEqual == true }
                ended.signal()
            }.start()
            #expect(Patience.block { rig.device.isCopying.load(ordering: .acquiring) })
            decoder?.cancel()
            decoder = nil
            #expect(Patience.block { rig.device.decoders.load(ordering: .acquiring) == 0 })
            rig.device.copies?.signal()
            ended.wait()
            #expect(copied.withLock { $0 })
            rig.end()
        }

        /// An exported picture is in the memory that the device has exported, in its planes, and keeps the surface.
        @Test func exportedPicturesKeepTheirSurfaces() throws {
            let rig = try Rig()
            let decoded = DecoderOutputs()
            var decoder: RemoteDecoder? = try rig.decoder(decoded)
            var pictures = try #require(decoder).pictures(0..<2, decoded)
            try #require(pictures.count == 2)
            var exported = try pictures.map { (picture) throws(MediaError) in try picture.exportDMABuf() }
            pictures = []
            decoder = nil
            #expect(Patience.block { rig.device.decoders.load(ordering: .acquiring) == 0 })
            #expect(rig.device.surfaces.load(ordering: .acquiring) == 2)
            for (seed, picture) in exported.enumerated() {
                guard case .dmaBuf(let memory) = picture.storage else {
                    Issue.record("\(picture.storage.name)")
                    return
                }
                #expect(memory.fileDescriptors.count == 2 && memory.planes.map(\.object) == [0, 1])
                #expect(try EchoPicture(width: 96, height: 64, seed: UInt64(seed)).isEqual(to: picture))
            }
            exported = []
            #expect(rig.isEmpty())
            #expect(rig.device.log.withLock { $0 } == [])
            rig.end()
        }

        /// A refusal is no failure of the helper; a failed call is.
        @Test func refusedExportsCostNothingElse() throws {
            let rig = try Rig()
            let decoded = DecoderOutputs()
            let decoder = try rig.decoder(decoded)
            let picture = try #require(try decoder.pictures(0..<1, decoded).first)
            rig.device.refusal.withLock { $0 = MediaError(.unsupported, "a test refuses it", given: "it") }
            for _ in 0..<2 {
                let error = #expect(throws: MediaError.self) { try picture.exportDMABuf() }
                #expect(error?.code == .unsupported && error?.message == "a test refuses it" && error?.given == "it")
            }
            #expect(rig.host.isOpen)
            #expect(try EchoPicture(width: 96, height: 64, seed: 0).isEqual(to: picture))
            rig.device.refusal.withLock { $0 = MediaError(.frameFailed, "the device is lost") }
            #expect(throws: MediaError.self) { try picture.exportDMABuf() }
            #expect(!rig.host.isOpen)
            rig.device.refusal.withLock { $0 = nil }
            #expect(throws: Never.self) { try picture.exportDMABuf() }
            rig.end()
        }

        @Test func anExportHasADeadline() throws {
            let rig = try Rig(TestDevice(blocksCopies: true))
            let decoded = DecoderOutputs()
            let decoder = try rig.decoder(decoded) { $0.deadlines.fetch = .milliseconds(200) }
            let picture = try #require(try decoder.pictures(0..<1, decoded).first)
            let error = #expect(throws: MediaError.self) { try picture.exportDMABuf() }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.message.contains("did not export a picture in time") == true, "\(error?.message ?? "")")
            // The helper was ended, and with it all that it had.
            #expect(throws: MediaError.self) { try picture.exportDMABuf() }
            rig.device.copies?.signal()
            rig.end()
        }

        @Test func exportsLeaveNoDescriptors() throws {
            let rig = try Rig()
            let decoded = DecoderOutputs()
            let decoder = try rig.decoder(decoded)
            let picture = try #require(try decoder.pictures(0..<1, decoded).first)
            _ = try picture.exportDMABuf()
            for _ in 0..<1000 { _ = try picture.exportDMABuf() }
            // The helper is in this process, and may just be closing the last ones.
            #expect(Patience.block { ExportedPlanes.count == 0 }, "\(ExportedPlanes.count)")
            rig.end()
        }

        /// What is left on the device is limited by its size, too.
        @Test func largePicturesTakeAtMostOneGigabyte() throws {
            let kept = KeptPictures(DevicePictures())
            try kept.allow(32)
            let device = TestDevice()
            func add(_ format: PixelFormat, _ width: Int, _ height: Int) throws -> UInt64? {
                let picture = EchoPicture(format, width: width, height: height, seed: 0)
                return kept.add(try PixelBuffer(picture.description, surface: TestSurface(picture, device)))
            }
            var large: [UInt64] = []
            while let id = try add(.p010, 7680, 4320) { large.append(id) }
            #expect(large.count == 10 && device.surfaces.load(ordering: .acquiring) == 10)
            // There is room for a small one, and then for one more in place of another.
            let small = try #require(try add(.nv12, 64, 64))
            try kept.release([large[3]])
            #expect(try add(.p010, 7680, 4320) != nil)
            #expect(try add(.p010, 7680, 4320) == nil)
            try kept.release([small])
            #expect(throws: MediaError.self) { try kept.release([small]) }
            let other = KeptPictures(DevicePictures())
            try other.allow(32)
            let picture = EchoPicture(.p010, width: 3840, height: 2160, seed: 0)
            for _ in 0..<32 {
                #expect(other.add(try PixelBuffer(picture.description, surface: TestSurface(picture, device))) != nil)
            }
            #expect(other.add(try PixelBuffer(picture.description, surface: TestSurface(picture, device))) == nil)
        }
    }
}

/// Lets another thread release an encoder.
private final class EncoderBox: @unchecked Sendable {  // One thread at a time uses it.
    private(set) var encoder: RemoteEncoder?
    init(_ encoder: RemoteEncoder) { self.encoder = encoder }
    func release() { encoder = nil }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Glibc
import HelperIPC
import MediaTypes
import TestSupport

/// A helper whose encoders and decoders do what drivers do at their worst, each at the moment that its name tells.
@main enum FaultyHelper {
    static func main() {
        let moments = ["creating", "encoding", "draining", "updating"]
        let factories = Fault.allCases.flatMap { fault in moments.map { FaultyFactory(fault: fault, moment: $0) } }
        var services = HelperServices(encoders: factories)
        services.decoders = Fault.allCases.flatMap { fault in
            ["creating", "decoding", "draining"].map { FaultyDecoderFactory(fault: fault, moment: $0) }
        }
        services.decoders += [
            EchoDecoder.Factory("echo"), EchoDecoder.Factory("reordering", depth: 3),
            EchoDecoder.Factory("threaded", depth: 3, usesThread: true),
        ]
        services.otherDecoders = { PlannedDecoderFactory($0) }
        do {
            try HelperServer(socket: 3, services: services).run()
        } catch {
            say("\(error)\n")
            _exit(1)
        }
    }
}

func say(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}

enum Fault: String, CaseIterable {
    case none, crash, abort, exit, hang, fail
    /// Calls return, but no frame comes out any more.
    case silence

    func strike() throws(MediaError) {
        switch self {
        case .none, .silence: return
        case .crash:
            say("the driver is about to crash\n")
            UnsafeMutablePointer<UInt8>(bitPattern: 64)?.pointee = 1
        case .abort:
            say("amdgpu: The CS has been rejected\nand no line feed")
            Glibc.abort()
        case .exit: _exit(7)
        case .hang: while true { sleep(1000) }
        case .fail: throw MediaError(.frameFailed, "the driver refuses", call: "vaEndPicture", status: 24)
        }
    }
}

struct FaultyFactory: EncoderFactory {
    let fault: Fault
    let moment: String

    var identity: EncoderIdentity { EncoderIdentity(name: "\(fault.rawValue)-\(moment)", codec: .h264) }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        if moment == "creating" { try fault.strike() }
        return FaultyEncoder(self, request)
    }
}

/// Gives each frame back at once; the third one meets the fault.
final class FaultyEncoder: EncoderBackend {
    let properties: EncoderProperties
    private let factory: FaultyFactory
    private let request: EncoderRequest
    private var frames = 0

    init(_ factory: FaultyFactory, _ request: EncoderRequest) {
        self.factory = factory
        self.request = request
        properties = .bare("faulty", request.configuration, isFailureFinal: true)
    }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        frames += 1
        if frames == 3 { try strike("encoding") }
        if frames >= 3, factory.fault == .silence { return }
        let coded = CodedFrame(
            number: frame.number,
            data: CodedData([0, 0, 0, 2, 0x65] + (try firstSamples(of: frame.buffer))),
            isKeyFrame: frames == 1,
            isReference: true
        )
        request.output(.coded(coded))
    }

    /// The first sample of the picture; of one in DMA-BUFs that of each plane, and the modifier.
    private func firstSamples(of buffer: PixelBuffer) throws(MediaError) -> [UInt8] {
        guard case .dmaBuf(let memory) = buffer.storage else {
            return try buffer.withPlanes { planes in [planes[0].baseAddress.load(as: UInt8.self)] }
        }
        var samples: [UInt8] = []
        for plane in memory.planes {
            let count = plane.layout.offset + 1
            let descriptor = memory.fileDescriptors[plane.object]
            guard let base = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0), base != MAP_FAILED else {
                throw MediaError(.unsupported, "a DMA-BUF cannot be mapped", call: "mmap", status: Int(errno))
            }
            samples.append(base.load(fromByteOffset: plane.layout.offset, as: UInt8.self))
            munmap(base, count)
        }
        return samples + [UInt8(truncatingIfNeeded: memory.modifier)]
    }

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        try strike("updating")
        return .done()
    }

    func drain() throws(MediaError) { try strike("draining") }

    private func strike(_ moment: String) throws(MediaError) {
        if factory.moment == moment { try factory.fault.strike() }
    }
}

struct FaultyDecoderFactory: DecoderFactory {
    let fault: Fault
    let moment: String

    var identity: DecoderIdentity { DecoderIdentity(name: "\(fault.rawValue)-\(moment)", codec: .h264) }

    func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
        if moment == "creating" { try fault.strike() }
        return FaultyDecoder(self, request)
    }
}

/// Gives each picture back at once; the third sample meets the fault.
final class FaultyDecoder: DecoderBackend {
    var properties: DecoderProperties { echo.properties }
    private let factory: FaultyDecoderFactory
    private let echo: EchoDecoder
    private var samples = 0

    init(_ factory: FaultyDecoderFactory, _ request: DecoderRequest) {
        self.factory = factory
        echo = EchoDecoder(EchoDecoder.Factory("faulty"), request)
    }

    func decode(_ sample: DecoderSample) throws(MediaError) {
        samples += 1
        if samples == 3, factory.moment == "decoding" { try factory.fault.strike() }
        if samples < 3 || factory.fault != .silence { try echo.decode(sample) }
    }

    func drain() throws(MediaError) {
        if factory.moment == "draining" { try factory.fault.strike() }
        try echo.drain()
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Foundation
import Glibc
import MediaTypes
import VAToolbox

/// What a frame costs the processor on its way to the first GPU: from buffers of the session's pool and from DMA-BUFs, with
/// the encoder here and in a helper, beside the bare copy of a frame; and the same of frames in BGRA, from buffers of a pool
/// and from DMA-BUFs, which the GPU converts. All of them take turns.
struct HardwareTrial {
    private let options: MeterOptions

    /// Microseconds of processor time for each frame, and how often each picture was copied.
    private struct Cost: Encodable {
        var processor: Double
        var copies: Double
    }

    init(_ options: MeterOptions) { self.options = options }

    /// Prints a line of JSON for each round.
    func run() async throws {
        var sessions: [(name: String, session: MeteredSession)] = []
        for (place, isolation) in [("here", EncoderIsolation.inProcess), ("helper", .process)] {
            for memory in ["pool", "dma-buf"] {
                sessions.append(("\(memory) \(place)", try await session(isolation, memory, .nv12)))
                sessions.append(("bgra \(memory) \(place)", try await session(isolation, memory, .bgra)))
            }
        }
        let pixels = options.width * options.height
        let (copy, bgraCopy) = (BareCopy(byteCount: pixels * 3 / 2), BareCopy(byteCount: pixels * 4))
        for (_, session) in sessions { _ = try await session.full(options.frames) }
        _ = (copy.run(options.frames), bgraCopy.run(options.frames))
        for round in 0..<options.pairs {
            var costs: [String: Cost] = [
                "copy": Cost(processor: copy.run(options.frames), copies: 1),
                "bgra copy": Cost(processor: bgraCopy.run(options.frames), copies: 1),
            ]
            for index in sessions.indices {
                let (name, session) = sessions[(index + round) % sessions.count]
                let before = await session.copies
                let segment = try await session.full(options.frames)
                let copies = await session.copies - before
                costs[name] = Cost(
                    processor: segment.client + segment.helper,
                    copies: Double(copies) / Double(options.frames)
                )
            }
            say(String(decoding: try JSONEncoder().encode(costs), as: UTF8.self))
        }
        for (_, session) in sessions { try await session.finish() }
    }

    private func session(
        _ isolation: EncoderIsolation,
        _ memory: String,
        _ format: PixelFormat
    ) async throws -> MeteredSession {
        var configuration = EncoderConfiguration(width: options.width, height: options.height)
        configuration.codec = options.codec
        configuration.rateControl = .constantQuantizer(26)
        configuration.bFrames = .off
        // Of pictures that say nothing, and so known before the first one comes.
        if !format.isYCbCr { configuration.color = .bt709 }
        configuration.keyFrameInterval = KeyFrameInterval()
        configuration.hardware.framesInFlight = 4
        var sessionOptions = SessionOptions()
        sessionOptions.policy = .requireHardware
        sessionOptions.isolation = isolation
        let session = try await CompressionSession(configuration: configuration, options: sessionOptions)
        let description = PixelBuffer.Description(format: format, width: options.width, height: options.height)
        let pool =
            try format == .nv12
            ? session.pixelBufferPool
            : PixelBufferPool(description, memory: isolation == .process ? .shared : .owned)
        let pictures = try (0..<12).map { index in
            memory == "pool" ? try filled(pool.make(), index) : try dmaBuf(description, index)
        }
        return MeteredSession(session, pictures: pictures)
    }

    private func filled(_ buffer: PixelBuffer, _ index: Int) throws -> PixelBuffer {
        try buffer.withPlanes { planes in
            for (number, plane) in planes.enumerated() {
                let extent = buffer.format.planeExtent(number, width: buffer.width, height: buffer.height)
                memset(plane.baseAddress, Int32(64 + index), plane.bytesPerRow * (extent?.rows ?? 0))
            }
        }
        return buffer
    }

    /// A picture in a memfd, which plays a DMA-BUF for a driver without a device.
    private func dmaBuf(_ description: PixelBuffer.Description, _ index: Int) throws -> PixelBuffer {
        let descriptor = linux_memfd_create("vatoolbox-meter")
        guard descriptor >= 0 else {
            throw MediaError(.outOfMemory, "no memory for a picture", call: "memfd_create", status: Int(errno))
        }
        var planes: [DMABuffer.Plane] = []
        var byteCount = 0
        for number in 0..<description.format.planeCount {
            let rows = (description.height + 15) & ~15
            guard let extent = description.format.planeExtent(number, width: description.width, height: rows) else {
                continue
            }
            let pitch = (extent.bytesPerRow + 255) & ~255
            planes.append(.init(object: 0, layout: PlaneLayout(offset: byteCount, bytesPerRow: pitch)))
            let row = [UInt8](repeating: UInt8(64 + index), count: pitch)
            for _ in 0..<extent.rows { byteCount += max(pwrite(descriptor, row, pitch, byteCount), 0) }
        }
        return try PixelBuffer(
            description,
            dmaBuf: DMABuffer(fileDescriptors: [descriptor], planes: planes, modifier: 0)
        ) { close(descriptor) }
    }
}

/// Copies frames by `memcpy` from as many buffers as a session's pictures have to as many as surfaces.
private final class BareCopy {
    private let byteCount: Int
    private let sources: [UnsafeMutableRawPointer]
    private let targets: [UnsafeMutableRawPointer]

    init(byteCount: Int) {
        func blocks(_ count: Int) -> [UnsafeMutableRawPointer] {
            (0..<count).map { index in
                let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 4096)
                memset(block, Int32(index), byteCount)
                return block
            }
        }
        self.byteCount = byteCount
        sources = blocks(12)
        targets = blocks(6)
    }

    deinit { for block in sources + targets { block.deallocate() } }

    /// Microseconds of processor time for each frame.
    func run(_ frames: Int) -> Double {
        let before = Clocks.processorTime(of: 0) ?? 0
        for frame in 0..<frames {
            targets[frame % targets.count].copyMemory(from: sources[frame % sources.count], byteCount: byteCount)
        }
        return ((Clocks.processorTime(of: 0) ?? 0) - before) / Double(frames)
    }
}

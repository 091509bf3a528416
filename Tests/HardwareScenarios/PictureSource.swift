// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Foundation
import Glibc
import MediaTypes
import Synchronization

/// Where the pictures of a session lie.
enum PictureMemory: String, Sendable {
    /// In buffers of the session's pool.
    case pool
    /// Each in memory of its own.
    case owned
    /// In some DMA-BUFs that are filled again when they come back, as a capture device does it.
    case dmaBuf = "dma-buf"
}

/// Makes the pictures of a session, one after the other, and keeps a copy of what they were.
final class PictureSource {
    private let options: ScenarioOptions
    private let description: PixelBuffer.Description
    private let pool: PixelBufferPool
    private let captured: CaptureBuffers
    private let copy: FileHandle?

    /// - Parameters:
    ///   - path: A file that gets the samples of every picture, row after row, if there is a wish for memory.
    init(_ options: ScenarioOptions, _ pool: PixelBufferPool, copy path: String) throws {
        self.options = options
        let size = options.pictureSize ?? (options.configuration.width, options.configuration.height)
        description = PixelBuffer.Description(format: options.pictureFormat, width: size.width, height: size.height)
        let fitsPool = description.format == pool.description.format && options.pictureSize == nil
        self.pool = fitsPool ? pool : try PixelBufferPool(description)
        captured = try CaptureBuffers(
            options.memory == .dmaBuf ? options.buffers : 0,
            description,
            rowUnit: options.hasRoom ? 16 : 2,
            gap: options.gap
        )
        copy = options.memory == nil ? nil : try Self.file(path)
    }

    /// The next picture. Waits for a buffer, if there are only so many.
    func picture(_ number: Int) async throws -> PixelBuffer {
        let buffer: PixelBuffer
        switch options.memory ?? .pool {
        case .pool where options.isNumbered: buffer = try Pictures.number(pool.make(), number)
        case .pool: buffer = try Pictures.make(number, pool)
        case .owned: buffer = try Pictures.fill(PixelBuffer(description), number)
        case .dmaBuf: buffer = try await captured.picture(number)
        }
        if let copy { try Self.keep(buffer, in: copy) }
        return buffer
    }

    /// Waits until every buffer is there again.
    func finish() async { await captured.waitForAll() }

    /// Appends the samples of a picture to a file, row after row.
    static func keep(_ buffer: PixelBuffer, in file: FileHandle) throws {
        var samples = Data()
        try buffer.withPlanes { planes in
            for (plane, extent) in zip(planes, buffer.pictureDescription.planeExtents) {
                for row in 0..<extent.rows {
                    let start = plane.baseAddress + row * plane.bytesPerRow
                    samples.append(Data(bytes: start, count: extent.bytesPerRow))
                }
            }
        }
        try file.write(contentsOf: samples)
    }

    /// Creates a file.
    static func file(_ path: String) throws -> FileHandle {
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
        else { throw Wrong("cannot write \(path)") }
        return file
    }
}

extension PixelBuffer.Description {
    /// What each plane holds.
    var planeExtents: [PlaneExtent] {
        (0..<format.planeCount).compactMap { format.planeExtent($0, width: width, height: height) }
    }
}

/// Memfds, which play DMA-BUFs for a driver without a device. The one that came back first is used first.
private final class CaptureBuffers: Sendable {
    private struct Buffer {
        var number: Int
        var descriptor: Int32
        var planes: [PixelPlane]
    }

    private let description: PixelBuffer.Description
    private let layouts: [PlaneLayout]
    private let count: Int
    private struct Free {
        var buffers: [Buffer] = []
        /// Who waits until so many are free.
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let free = Mutex(Free())

    /// - Parameters:
    ///   - rowUnit: Planes have a multiple of so many rows.
    ///   - gap: How many bytes lie behind each plane.
    init(_ count: Int, _ description: PixelBuffer.Description, rowUnit: Int, gap: Int) throws {
        self.description = description
        self.count = count
        let rows = (description.height + rowUnit - 1) / rowUnit * rowUnit
        var padded = description
        padded.height = rows
        var layouts: [PlaneLayout] = []
        var byteCount = 0
        for extent in padded.planeExtents {
            layouts.append(PlaneLayout(offset: byteCount, bytesPerRow: (extent.bytesPerRow + 255) & ~255))
            byteCount += layouts[layouts.count - 1].bytesPerRow * extent.rows + gap
        }
        self.layouts = layouts
        for number in 0..<count {
            let descriptor = linux_memfd_create("vatoolbox-capture")
            guard descriptor >= 0, ftruncate(descriptor, byteCount) == 0,
                let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
            else { throw Wrong("no memory for a picture: \(errno)") }
            let planes = layouts.map { PixelPlane(baseAddress: base + $0.offset, bytesPerRow: $0.bytesPerRow) }
            free.withLock { $0.buffers.append(Buffer(number: number, descriptor: descriptor, planes: planes)) }
        }
    }

    /// A picture in a buffer that nobody uses. Says in which one, and later when it came back.
    func picture(_ number: Int) async throws -> PixelBuffer {
        await wait(for: 1)
        let buffer = free.withLock { $0.buffers.removeFirst() }
        say("captured", ["frame": number, "buffer": buffer.number])
        Pictures.fill(buffer.planes, description, number)
        let planes = layouts.map { DMABuffer.Plane(object: 0, layout: $0) }
        let memory = DMABuffer(fileDescriptors: [buffer.descriptor], planes: planes, modifier: 0)
        return try PixelBuffer(description, dmaBuf: memory) { [self] in
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            say("released", ["frame": number, "us": now.tv_sec * 1_000_000 + now.tv_nsec / 1000])
            let served = free.withLock { free in
                free.buffers.append(buffer)
                let count = free.buffers.count
                let last = free.waiting.partition { $0.count <= count }
                defer { free.waiting.removeSubrange(last...) }
                return free.waiting[last...].map(\.continuation)
            }
            for continuation in served { continuation.resume() }
        }
    }

    func waitForAll() async { await wait(for: count) }

    /// Waits until so many buffers are free. Where they never are, whoever runs the scenario ends it.
    private func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = free.withLock { free in
                if free.buffers.count >= count { return true }
                free.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import Foundation
import Glibc
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

/// The helper programs as they were built, beside the tests.
enum HelperPrograms {
    /// A pool of such helpers.
    static func pool(_ name: String, _ change: (inout HelperPool.Options) -> Void = { _ in }) throws -> HelperPool {
        var options = HelperPool.Options()
        options.path = try BuiltProgram.path(name)
        change(&options)
        return try HelperPool(options)
    }
}

/// An encoder, in a helper or not, together with what it has put out.
final class Take {
    let encoder: any EncoderBackend
    let outputs: Outputs
    let configuration: EncoderConfiguration
    private var nextNumber: Int64 = 0

    final class Outputs: Sendable {
        private struct State {
            var all: [EncoderOutput] = []
            var hasFailed = false
            var waiting: [DispatchSemaphore] = []
        }
        private let state = Mutex(State())

        func add(_ output: EncoderOutput) {
            let waiting = state.withLock { state in
                state.all.append(output)
                guard case .failed = output else { return [DispatchSemaphore]() }
                state.hasFailed = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for semaphore in waiting { semaphore.signal() }
        }

        /// Waits until there is an error, but not for ever.
        func waitForError() {
            let told = DispatchSemaphore(value: 0)
            let isThere = state.withLock { state in
                if !state.hasFailed { state.waiting.append(told) }
                return state.hasFailed
            }
            if !isThere { _ = told.wait(timeout: .now() + 60) }
        }

        var all: [EncoderOutput] { state.withLock { $0.all } }

        var frames: [CodedFrame] { all.compactMap { if case .coded(let frame) = $0 { frame } else { nil } } }
        var errors: [MediaError] { all.compactMap { if case .failed(let error) = $0 { error } else { nil } } }
        /// Number and bytes of each frame.
        var bytes: [[UInt8]] {
            frames.map { frame in frame.data.withUnsafeBytes { Array("\(frame.number) ".utf8) + $0 } }
        }
    }

    init(_ factory: any EncoderFactory, _ configuration: EncoderConfiguration) throws {
        let outputs = Outputs()
        encoder = try factory.makeEncoder(EncoderRequest(configuration: configuration) { outputs.add($0) })
        self.outputs = outputs
        self.configuration = configuration
    }

    var remote: RemoteEncoder? { encoder as? RemoteEncoder }

    func encode(_ buffer: PixelBuffer, _ options: FrameOptions = .init()) throws(MediaError) {
        defer { nextNumber += 1 }
        let time = MediaTime(value: nextNumber, timescale: 30)
        try encoder.encode(EncoderFrame(number: nextNumber, buffer: buffer, presentationTime: time, options: options))
    }
}

/// Moving pictures with noise.
struct Pictures {
    var width = 96
    var height = 64
    private var random = SeededGenerator(seed: 5)
    private let pool: PixelBufferPool

    init(_ memory: PixelBufferPool.Memory, width: Int = 96, height: Int = 64) throws {
        self.width = width
        self.height = height
        pool = try PixelBufferPool(.init(format: .nv12, width: width, height: height), memory: memory)
    }

    mutating func next(_ index: Int) throws -> PixelBuffer {
        let buffer = try pool.make(attachments: PixelAttachments(captions: index % 7 == 0 ? [0xFC, 0x41, 0x42] : []))
        try buffer.withPlanes { planes in
            for (plane, rows) in [(planes[0], height), (planes[1], height / 2)] {
                for row in 0..<rows {
                    for column in 0..<width {
                        let wave = (column + index * 2) * 3 ^ (row * 5 + index)
                        let value = UInt8(truncatingIfNeeded: 40 + (wave & 127) + Int(random.next() & 3))
                        (plane.baseAddress + row * plane.bytesPerRow + column).storeBytes(of: value, as: UInt8.self)
                    }
                }
            }
        }
        return buffer
    }
}

/// What encoders in helpers must not leave behind in this process, where other tests run at the same time.
struct Traces: Equatable, CustomStringConvertible {
    /// Sockets that keep messages apart, pipes that are read without waiting, processes, memory for coded data and
    /// decoded pictures.
    var descriptors: [String]
    /// Helpers, also those that have ended and were not waited for.
    var children: [String]
    var threads: Int

    /// The names of helpers, as long as the kernel keeps names.
    private static let programs = ["vatoolbox-helpe", "vatoolbox-decod", "FaultyHelper", "ScriptedHelper"]

    static var now: Traces {
        let tasks = names("/proc/self/task")
        let children = tasks.flatMap { task in
            text("/proc/self/task/\(task)/children").split(separator: " ").map { String($0) }
        }
        return Traces(
            descriptors: names("/proc/self/fd").compactMap { descriptor($0) }.sorted(),
            children: children.filter { programs.contains(text("/proc/\($0)/comm")) }.sorted(),
            threads: tasks.count { ["vt-helper", "vt-link"].contains(text("/proc/self/task/\($0)/comm")) }
        )
    }

    private static func names(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func text(_ path: String) -> String {
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").trimmingCharacters(in: .newlines)
    }

    /// What a descriptor is, if encoders in helpers have such ones.
    private static func descriptor(_ name: String) -> String? {
        guard let number = Int32(name),
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
        else { return nil }
        if file.hasPrefix("socket:") {
            var (type, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size)
            return type == Int32(SOCK_SEQPACKET.rawValue) ? file : nil
        }
        if file.hasPrefix("pipe:") { return fcntl(number, F_GETFL) & O_NONBLOCK != 0 ? file : nil }
        let memory = ["vatoolbox-coded", "vatoolbox-samples", "vatoolbox-decoded"]
        return file.contains("pidfd") || memory.contains { file.contains($0) } ? file : nil
    }

    var description: String { "\(descriptors), children \(children), \(threads) threads" }

    /// Waits until nothing is there any more.
    static func expectNone(sourceLocation: SourceLocation = #_sourceLocation) {
        let none = Traces(descriptors: [], children: [], threads: 0)
        _ = Patience.block { now == none }
        #expect(now == none, sourceLocation: sourceLocation)
    }
}

extension EncoderConfiguration {
    /// On one thread and with a constant quantizer: with B-frames and an average rate, x264 164 now and then gives other
    /// frames of such small pictures than it gave in the run before.
    static func small(width: Int = 96, height: Int = 64) -> EncoderConfiguration {
        var configuration = EncoderConfiguration(width: width, height: height)
        configuration.color = .bt709
        configuration.pixelAspectRatio = .one
        configuration.rateControl = .constantQuantizer(26)
        configuration.software.preset = .veryfast
        configuration.software.threads = 1
        return configuration
    }
}

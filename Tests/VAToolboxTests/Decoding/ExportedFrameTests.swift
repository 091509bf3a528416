// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import HelperIPC
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// A frame, whatever its memory and layout.
private struct ShownFrame: Hashable, Sendable {
    var time: MediaTime
    var bytes: [UInt8]

    /// - Parameter picture: The frame's picture in other memory.
    init(_ frame: DecodedFrame, _ picture: PixelBuffer? = nil) throws {
        time = frame.presentationTime
        bytes = try (picture ?? frame.buffer).packedInterleaved()
    }
}

/// Frames that a session decodes on the GPU of the reference driver and exports as DMA-BUF.
@Suite(.usesHelpers, .timeLimit(.minutes(60))) struct ExportedFrameTests {
    private static let identity = DecoderIdentity(name: "vaapi-h264", codec: .h264, device: "/dev/dri/renderD128")

    private func candidate(
        _ helper: HelperOnDriver,
        fetchDeadline: Duration = .seconds(600)
    ) throws -> DecoderCandidate {
        var pool = HelperPool.Options(.decoding)
        pool.path = helper.path
        return .remote(Self.identity, in: try HelperPool(pool)) { $0.fetch = fetchDeadline }
    }

    /// Decodes a stream, and does something with each frame.
    ///
    /// - Parameter use: Called with each frame; an error ends the session.
    /// - Returns: The number of failed decoders.
    private func play(
        _ stream: HelperDecoding,
        on candidates: [DecoderCandidate],
        limit: Int = 64,
        _ use: @escaping @Sendable (DecodedFrame) async throws -> Void
    ) async throws -> Int {
        let session = try await stream.session(on: candidates) { $0.devicePictureLimit = limit }
        let feeder = Task {
            for sample in stream.samples { try await session.decode(sample) }
            try await session.finish()
        }
        do {
            for try await frame in session.frames { try await use(frame) }
            try await feeder.value
        } catch {
            session.cancel()
            _ = await feeder.result
            throw error
        }
        return await session.statistics.failedDecoders
    }

    /// The frames that the CPU returns.
    private func expected(_ stream: HelperDecoding) async throws -> [ShownFrame] {
        let frames = Mutex<[ShownFrame]>([])
        _ = try await play(stream, on: [.software(.h264)], limit: 0) { frame in
            let shown = try ShownFrame(frame)
            frames.withLock { $0.append(shown) }
        }
        return frames.withLock { $0 }
    }

    private func isOnDevice(_ frame: DecodedFrame) -> Bool {
        if case .deviceSurface = frame.buffer.storage { true } else { false }
    }

    /// The processes of helpers that this one has started with the script of a test.
    private func helpers(_ helper: HelperOnDriver) -> [Int32] {
        ProcessFiles.children(of: "self").filter { process in
            ProcessFiles.text("/proc/\(process)/environ").contains(helper.path.dropLast("/helper".count))
        }
    }

    @Test func everyFrameIsInItsMemory() async throws {
        let stream = try HelperDecoding.short.get()
        let expected = try await expected(stream)
        let helper = try HelperOnDriver()
        let exported = Mutex<[ShownFrame]>([])
        let failed = try await play(stream, on: [try candidate(helper)]) { frame in
            let picture = try frame.buffer.exportDMABuf()
            guard case .dmaBuf(let memory) = picture.storage else {
                Issue.record("\(picture.storage.name)")
                return
            }
            #expect(memory.modifier == 0 && memory.fileDescriptors.count == 1)
            let shown = try ShownFrame(frame, picture)
            exported.withLock { $0.append(shown) }
        }
        #expect(failed == 0 && exported.withLock { $0 } == expected)
    }

    /// An exported picture counts as one on the device, so the decoder copies others when all are exported.
    @Test func exportedFramesAreHeld() async throws {
        let stream = try HelperDecoding.short.get()
        let helper = try HelperOnDriver()
        let held = Mutex<[PixelBuffer]>([])
        let places = Mutex<[Bool]>([])
        let failed = try await play(stream, on: [try candidate(helper)], limit: 2) { frame in
            places.withLock { $0.append(isOnDevice(frame)) }
            if isOnDevice(frame) {
                let picture = try frame.buffer.exportDMABuf()
                held.withLock { $0.append(picture) }
            }
        }
        // The first ones are held until the end.
        #expect(failed == 0 && held.withLock { $0.count } == 2)
        #expect(places.withLock { $0.filter { $0 }.count } == 2 && places.withLock { $0.count } == stream.samples.count)
    }

    @Test func exportsLeaveNoDescriptors() async throws {
        let stream = try HelperDecoding.short.get()
        let helper = try HelperOnDriver()
        let surfaces: @Sendable (Int32) -> Int = { process in
            ProcessFiles.names("/proc/\(process)/fd").count { number in
                let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(number)")
                return file?.contains("reference-surface") == true
            }
        }
        let isFirst = Mutex(true)
        let failed = try await play(stream, on: [try candidate(helper)]) { frame in
            let isNext = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isNext else { return }
            let kept = try frame.buffer.exportDMABuf()
            guard case .dmaBuf(let memory) = kept.storage else { return }
            let files: @Sendable () -> Int = {
                // Other tests have other surfaces.
                ProcessFiles.names("/proc/self/fd").count { name in
                    guard let number = Int32(name) else { return false }
                    var (one, other) = (stat(), stat())
                    return fstat(number, &one) == 0 && fstat(memory.fileDescriptors[0], &other) == 0
                        && one.st_ino == other.st_ino && one.st_dev == other.st_dev
                }
            }
            for _ in 0..<1000 { _ = try frame.buffer.exportDMABuf() }
            // The link's thread has the last ones for a moment.
            #expect(await Patience.wait { files() == 1 }, "\(files())")
            // The helper has the surfaces of its decoder, and nothing for each export.
            for process in helpers(helper) { #expect(surfaces(process) < 100) }
            withExtendedLifetime(kept) {}
        }
        #expect(failed == 0)
    }

    /// What a driver states wrongly is not exported, and costs nothing else.
    @Test(arguments: ["export=linear-as-tiled", "export=wrong-offset", "export=wrong-pitch"])
    func lyingDriversAreUsedAsBefore(limits: String) async throws {
        let stream = try HelperDecoding.short.get()
        let expected = try await expected(stream)
        let helper = try HelperOnDriver(limits: "decode=h264,hevc " + limits)
        let frames = Mutex<[ShownFrame]>([])
        let failed = try await play(stream, on: [try candidate(helper)]) { frame in
            #expect(isOnDevice(frame))
            let error = #expect(throws: MediaError.self) { try frame.buffer.exportDMABuf() }
            #expect(error?.code == .unsupported, "\(error as Any)")
            #expect(error?.message.contains("the driver's DMA-BUFs cannot be relied on") == true, "\(error as Any)")
            let shown = try ShownFrame(frame)
            frames.withLock { $0.append(shown) }
        }
        #expect(failed == 0 && frames.withLock { $0 } == expected)
    }

    /// A driver that crashes or hangs over an export costs no frame.
    @Test(arguments: ["segv", "hang"]) func aFaultOfAnExportCostsNoFrame(fault: String) async throws {
        let stream = try HelperDecoding.short.get()
        let expected = try await expected(stream)
        let helper = try HelperOnDriver(faults: "vaExportSurfaceHandle:1=\(fault)")
        let bad = try candidate(helper, fetchDeadline: fault == "hang" ? .seconds(2) : .seconds(600))
        let frames = Mutex<[ShownFrame]>([])
        let failures = Mutex<[MediaError]>([])
        let failed = try await play(stream, on: [bad, .software(.h264)]) { frame in
            if frames.withLock({ $0.count }) == 20, isOnDevice(frame) {
                do throws(MediaError) {
                    _ = try frame.buffer.exportDMABuf()
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
            let shown = try ShownFrame(frame)
            frames.withLock { $0.append(shown) }
        }
        let errors = failures.withLock { $0 }
        #expect(errors.count == 1, "\(errors)")
        if fault == "hang" { #expect(errors.first?.code == .deadlineExceeded) }
        if fault == "segv" { #expect(errors.first?.status == Int(SIGSEGV), "\(errors)") }
        #expect(failed <= 1 && frames.withLock { $0 } == expected)
    }

    /// Encodes pictures on the GPU in a helper of its own.
    ///
    /// - Returns: The stream, and how many pictures were copied before the driver had them.
    private func encode(_ pictures: [PixelBuffer], limits: String) async throws -> (stream: [UInt8], copies: Int) {
        let helper = try HelperOnDriver("vatoolbox-helper", limits: limits)
        var pool = HelperPool.Options()
        pool.path = helper.path
        let identity = EncoderIdentity(name: "vaapi-h264", codec: .h264, device: "/dev/dri/renderD128")
        let factory = RemoteEncoderFactory(identity, pool: try HelperPool(pool))
        var configuration = EncoderConfiguration(width: 192, height: 112)
        configuration.codec = .h264
        configuration.rateControl = .constantQuantizer(26)
        let session = try await CompressionSession(
            configuration: configuration,
            options: .init(),
            selection: EncoderSelection(candidates: [.init(factory: factory, reason: "a test")])
        )
        let consumer = Task { [samples = session.samples] in
            var stream: [UInt8] = []
            for try await sample in samples { sample.data.withUnsafeBytes { stream += $0 } }
            return stream
        }
        for (number, picture) in pictures.enumerated() {
            try await session.encode(picture, presentationTime: MediaTime(value: Int64(number), timescale: 25))
        }
        try await session.finish()
        return (try await consumer.value, await session.statistics.copiedPictures)
    }

    /// Decodes a stream, and exports all of its frames.
    private func exported(_ limits: String) async throws -> [(exported: PixelBuffer, original: PixelBuffer)] {
        let helper = try HelperOnDriver(limits: limits)
        let pictures = Mutex<[(exported: PixelBuffer, original: PixelBuffer)]>([])
        _ = try await play(try HelperDecoding.short.get(), on: [try candidate(helper)]) { frame in
            let exported = try frame.buffer.exportDMABuf()
            pictures.withLock { $0.append((exported, frame.buffer)) }
        }
        return pictures.withLock { $0 }
    }

    /// An encoder in another process imports them, as it does with any DMA-BUF.
    @Test(arguments: ["linear", "two-objects"])
    func exportedFramesAreEncodedInAnotherProcess(exports: String) async throws {
        let limits = "decode=h264,hevc export=\(exports)"
        let pictures = try await exported(limits)
        let imported = try await encode(pictures.map(\.exported), limits: limits)
        let copied = try await encode(pictures.map(\.original), limits: limits)
        #expect(!imported.stream.isEmpty && imported.stream == copied.stream)
        #expect(imported.copies == 0 && copied.copies >= pictures.count)
    }

    /// The CPU cannot read them, so no session could continue with them after a failure of its encoder.
    @Test func tiledFramesAreForDevicesOnly() async throws {
        let limits = "decode=h264,hevc export=tiled"
        let pictures = try await exported(limits)
        #expect(pictures.allSatisfy { !$0.exported.isMapped && $0.original.isMapped })
        let unread = #expect(throws: MediaError.self) { try pictures[0].exported.withPlanes { _ in } }
        #expect(unread?.code == .unsupported && unread?.given == "DMA-BUF")
        let refused = await #expect(throws: MediaError.self) {
            _ = try await encode(pictures.map(\.exported), limits: limits)
        }
        #expect(refused?.code == .unsupported && refused?.given == "DMA-BUF")
    }

    /// The memory outlives its helper, and so do the samples of a picture that was not exported.
    @Test func exportedFramesOutliveTheirHelper() async throws {
        let stream = try HelperDecoding.short.get()
        let expected = try await expected(stream)
        let helper = try HelperOnDriver()
        let frames = Mutex<[DecodedFrame]>([])
        let exported = Mutex<PixelBuffer?>(nil)
        _ = try await play(stream, on: [try candidate(helper), .software(.h264)]) { frame in
            let count = frames.withLock { frames in
                frames.append(frame)
                return frames.count
            }
            guard count == 3, isOnDevice(frame) else { return }
            let picture = try frame.buffer.exportDMABuf()
            exported.withLock { $0 = picture }
            let processes = helpers(helper)
            #expect(!processes.isEmpty)
            for process in processes { kill(process, SIGKILL) }
            // Until its end is known here.
            let error = await Self.error(of: frame)
            #expect(error?.code != .unsupported, "\(error as Any)")
        }
        let survivor = try #require(exported.withLock { $0 })
        #expect(try ShownFrame(frames.withLock { $0 }[2], survivor) == expected[2])
        #expect(try frames.withLock { $0 }.map { try ShownFrame($0) } == expected)
    }

    /// Returns the error of an export as soon as there is one.
    private static func error(of frame: DecodedFrame) async -> MediaError? {
        let error = Mutex<MediaError?>(nil)
        _ = await Patience.wait {
            do throws(MediaError) {
                _ = try frame.buffer.exportDMABuf()
                return false
            } catch let failure {
                error.withLock { $0 = failure }
                return true
            }
        }
        return error.withLock { $0 }
    }
}

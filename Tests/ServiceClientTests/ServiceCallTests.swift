// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import ServiceClient
import Synchronization
import Testing

/// A service of its own for a test: the built program, on any port of this machine.
private final class RunningService: Sendable {
    let url: String
    private let folder: URL
    private let process: Process

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("service-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process = Process()
        process.executableURL = Bundle.main.bundleURL.appendingPathComponent("vatoolbox-service")
        process.arguments = ["serve", "--data", folder.path, "--listen-port", "0"]
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        var text = ""
        var found: String?
        while found == nil {
            let data = errors.fileHandleForReading.availableData
            try #require(!data.isEmpty, "the service has ended: \(text)")
            text += String(decoding: data, as: UTF8.self)
            found = text.firstMatch(of: /listening url=(\S+)\n/).map { String($0.1) }
        }
        url = found ?? ""
        // What it writes later must not fill the pipe.
        errors.fileHandleForReading.readabilityHandler = { handle in
            if handle.availableData.isEmpty { handle.readabilityHandler = nil }
        }
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    func client(key: String? = nil) throws -> ServiceClient { try ServiceClient(url: url, key: key) }

    func file(_ name: String, _ bytes: Int) throws -> String {
        let path = folder.appendingPathComponent(name).path
        try Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: URL(fileURLWithPath: path))
        return path
    }
}

@Suite("Calls to a service", .serialized)
struct ServiceCallTests {
    private let service: RunningService
    private let client: ServiceClient

    init() throws {
        service = try RunningService()
        client = try service.client()
    }

    /// A job for a queue that is paused.
    private func heldRequest() async throws -> JobRequest {
        var settings = QueueRequest()
        settings.paused = true
        _ = try await client.setQueue("held", settings)
        let upload = try await client.upload(file: try service.file("a.mov", 1000))
        var output = Output()
        output.name = "a.mp4"
        var request = JobRequest()
        request.input = Input(.upload(upload.id))
        request.outputs = [output]
        request.queue = "held"
        return request
    }

    @Test("The node tells about itself, and drains")
    func node() async throws {
        let info = try await client.service()
        #expect(info.api == "1")
        #expect(try await client.status().version == info.version)
        #expect(try await client.capabilities().softwareEncoders.isEmpty == false)
        #expect(try await client.errors().contains { $0.code == "not-found" })
        #expect(try await client.drain(waits: true).draining)
        #expect(try await !client.resume().draining)
    }

    @Test("Queues are made, paused, drained and deleted")
    func queues() async throws {
        var settings = QueueRequest()
        settings.mostRunning = 2
        settings.weights = ["a": 2]
        #expect(try await client.setQueue("night", settings).settings == settings)
        #expect(try await client.queues().map(\.name).contains("night"))
        #expect(try await client.pauseQueue("night").settings.paused)
        #expect(try await !client.resumeQueue("night").settings.paused)
        #expect(try await client.drainQueue("night", waits: true).settings.paused)
        #expect(try await client.queue("night").settings.mostRunning == 2)
        try await client.deleteQueue("night")
        let error = await #expect(throws: ClientError.self) { try await client.queue("night") }
        #expect(error?.code == .notFound)
    }

    @Test("Presets have versions")
    func presets() async throws {
        var output = Output()
        output.name = "small.mp4"
        output.video.height = 180
        var content = PresetRequest()
        content.outputs = [output]
        #expect(try await client.setPreset("small", content).version == 1)
        content.description = "changed"
        #expect(try await client.setPreset("small", content).version == 2)
        #expect(try await client.preset("small", version: 1).content.description.isEmpty)
        #expect(try await client.presets().map(\.content) == [content])
        try await client.deletePreset("small")
        #expect(try await client.presets().isEmpty)
    }

    @Test("Keys are made, replaced and deleted, and an answer without one says so")
    func keys() async throws {
        var request = KeyRequest()
        request.name = "first"
        request.scopes = [.admin]
        let first = try await client.makeKey(request)
        let refused = await #expect(throws: ClientError.self) { try await client.keys() }
        #expect(refused?.code == .unauthorized)
        #expect(refused?.remedies == ["Give a key of the service."])
        let administrator = try service.client(key: first.secret)
        request.name = "second"
        request.scopes = [.readJobs]
        let second = try await administrator.makeKey(request)
        #expect(try await administrator.keys().map(\.name).sorted() == ["first", "second"])
        let replaced = try await administrator.rotateKey(second.key.id)
        #expect(replaced.secret != second.secret)
        let reader = try service.client(key: replaced.secret)
        #expect(try await reader.queues().isEmpty == false)
        let forbidden = await #expect(throws: ClientError.self) { try await reader.keys() }
        #expect(forbidden?.apiError?.code == .forbidden)
        try await administrator.deleteKey(second.key.id)
        await #expect(throws: ClientError.self) { try await reader.queues() }
    }

    @Test("An upload tells its progress, and has the digest of the file")
    func uploads() async throws {
        let path = try service.file("some file.mov", 700_000)
        let told = Mutex<[TransferProgress]>([])
        let upload = try await client.upload(file: path) { progress in told.withLock { $0.append(progress) } }
        #expect(told.withLock { $0.map(\.bytes) } == [262_144, 524_288, 700_000])
        #expect(upload.complete && upload.size == 700_000)
        #expect(try await client.upload(upload.name) == upload)
        #expect(try await client.uploads() == [upload])
        let taken = await #expect(throws: ClientError.self) { try await client.upload(file: path, as: upload.name) }
        #expect(taken?.code == .conflict)
        try await client.deleteUpload(upload.name)
        #expect(try await client.uploads().isEmpty)
        let empty = try await client.upload(file: try service.file("empty", 0))
        #expect(empty.size == 0 && empty.complete)
        for path in ["/nowhere/file", "/tmp"] {
            let error = await #expect(throws: ClientError.self) { try await client.upload(file: path) }
            #expect(error?.kind == .file)
        }
    }

    @Test("Jobs are submitted once, listed over pages, cancelled, retried and deleted")
    func jobs() async throws {
        var request = try await heldRequest()
        let job = try await client.submit(request, idempotencyKey: "one")
        #expect(try await client.submit(request, idempotencyKey: "one").id == job.id)
        request.priority = 1
        let other = await #expect(throws: ClientError.self) { try await client.submit(request, idempotencyKey: "one") }
        #expect(other?.code == .idempotencyConflict)
        #expect(try await client.waitingReason(of: job.id).reason == .queuePaused)

        var ids = [job.id]
        for _ in 0..<204 { ids.append(try await client.submit(request).id) }
        var filter = JobFilter()
        filter.queue = "held"
        filter.state = .waiting
        var listed: [String] = []
        for try await summary in client.jobs(filter) { listed.append(summary.id) }
        #expect(listed == ids.reversed())

        #expect(try await client.cancel(job.id).state == .cancelled)
        #expect(try await client.wait(for: job.id).state == .cancelled)
        #expect(try await client.retry(job.id).state == .waiting)
        let waits = await #expect(throws: ClientError.self) { try await client.deleteJob(job.id) }
        #expect(waits?.code == .invalidState)
        _ = try await client.cancel(job.id)
        try await client.deleteJob(job.id)
        let gone = await #expect(throws: ClientError.self) { try await client.job(job.id) }
        #expect(gone?.code == .notFound)
    }

    @Test("A task that is cancelled stops waiting, and the job goes on")
    func cancellation() async throws {
        let job = try await client.submit(try await heldRequest())
        let (begun, began) = AsyncStream.makeStream(of: Void.self)
        let waiting = Task { [client] in
            try await client.wait(for: job.id) { _ in began.yield() }
        }
        for await _ in begun { break }
        waiting.cancel()
        let result = await waiting.result
        let error = #expect(throws: ClientError.self) { try result.get() }
        #expect(error?.kind == .cancelled)
        #expect(try await client.job(job.id).state == .waiting)
    }
}

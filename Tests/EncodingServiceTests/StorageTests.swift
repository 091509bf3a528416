// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import HostSystem
import JobStore
import ServiceAPI
import TestSupport
import Testing

@testable import EncodingService

/// A file that is removed with the value.
final class TemporaryFile {
    let path: String

    init(_ text: String) throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("settings-\(UUID().uuidString)").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A folder that is removed with the value.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("service-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

@Suite struct StorageTests {
    @Test(arguments: ["a", "a/b.ts", "show/720p/00001.m4s"])
    func plainPaths(_ path: String) { #expect(ResultFiles.isPlain(path)) }

    @Test(arguments: ["", "/a", "a/", "a//b", "..", "a/../b", ".published", "a/.b", "./a", "a\0b"])
    func otherPathsAreNone(_ path: String) { #expect(!ResultFiles.isPlain(path)) }

    @Test func linksAndPipesAreNoResults() throws {
        let folder = try TemporaryFolder()
        for plant in ["symlink", "hardlink", "fifo"] {
            let work = "\(folder.path)/\(plant)"
            try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
            let path = "\(work)/film.mp4"
            switch plant {
            case "symlink": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
            case "hardlink":
                try "x".write(toFile: "\(folder.path)/other", atomically: true, encoding: .utf8)
                try FileManager.default.linkItem(atPath: "\(folder.path)/other", toPath: path)
            default: #expect(mkfifo(path, 0o600) == 0)
            }
            #expect(throws: FileError.self, "\(plant)") { try ResultFiles.describe(work) }
            if plant != "hardlink" { #expect(try ResultFiles.open("film.mp4", in: work) == nil) }
        }
    }

    @Test func previewsAreRegularFilesOfTheTask() throws {
        let folder = try TemporaryFolder()
        func path(_ name: String) -> String { "\(folder.path)/\(name)" }
        func size() throws -> Int? { try ResultFiles.openUnfinished("film.mp4", in: folder.path)?.size }
        try FileManager.default.createSymbolicLink(
            atPath: path(".vatoolbox-1-1-film.mp4.part"),
            withDestinationPath: "/etc/passwd"
        )
        #expect(mkfifo(path(".vatoolbox-1-2-film.mp4.part"), 0o600) == 0)
        try "other".write(toFile: path("other"), atomically: true, encoding: .utf8)
        try FileManager.default.linkItem(atPath: path("other"), toPath: path(".vatoolbox-1-3-film.mp4.part"))
        #expect(try size() == nil)
        // At the end, it has its name.
        try "film".write(toFile: path("film.mp4"), atomically: true, encoding: .utf8)
        #expect(try size() == 4)
    }

    /// A task that was taken over may make as many as it likes: few of them are looked at, and none stays open.
    @Test func namesOfUnfinishedFilesCannotUseDescriptorsUp() throws {
        let folder = try TemporaryFolder()
        for number in 0..<500 {
            // Only the first few are looked at: those behind are larger.
            let name = ".vatoolbox-1-\(number + 1000)-film.mp4.part"
            try String(repeating: "x", count: number + 1).write(
                toFile: "\(folder.path)/\(name)",
                atomically: false,
                encoding: .utf8
            )
        }
        // What this process has open below the folder.
        func open() throws -> Int {
            ProcessFiles.names("/proc/self/fd").count { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                return target?.hasPrefix(folder.path) ?? false
            }
        }
        let file = try #require(try ResultFiles.openUnfinished("film.mp4", in: folder.path))
        #expect(try open() == 1)
        #expect(file.size == 4)
        withExtendedLifetime(file) {}
    }

    @Test func publicationHappensOnce() throws {
        let folder = try TemporaryFolder()
        let data = try DataFolder(path: folder.path, node: "a")
        let job = try #require(JobID(rawValue: "00000000000000000000000000"))
        let task = TaskID(job: job, index: 0)
        let (first, second) = (AttemptToken(rawValue: 1), AttemptToken(rawValue: 2))
        for token in [first, second] {
            try Files.makeFolder(data.work(token))
            try Files.replace("\(data.work(token))/film.mp4", with: [UInt8(token.rawValue)])
            try Publication.prepare(token, result: "{\"by\": \(token.rawValue)}", in: data)
        }
        #expect(try Publication.published(task, in: data) == nil)
        try Publication.publish(first, as: task, in: data)
        #expect(throws: FileError.self) { try Publication.publish(second, as: task, in: data) }
        // Where the file system does not know how not to replace.
        #expect(throws: FileError.self) { try Publication.move(data.work(second), data.results(task)) }
        let published = try #require(try Publication.published(task, in: data))
        #expect(published.token == first)
        #expect(published.result == "{\"by\": 1}")
        #expect(try ResultFiles.open("film.mp4", in: data.results(task))?.size == 1)
    }

    @Test func nodesOfAFolderLeaveEachOthersFilesAlone() throws {
        let folder = try TemporaryFolder()
        let first = try DataFolder(path: folder.path, node: "a", isShared: true)
        let second = try DataFolder(path: folder.path, node: "b", isShared: true)
        let token = AttemptToken(rawValue: 7)
        for data in [first, second] { try Files.replace(prepared(data.work(token)) + "/film.mp4", with: [1]) }
        #expect(first.work(token, of: "b/4711") == second.work(token))
        #expect(first.state != second.state && first.transfers != second.transfers)
        try first.removeWork()
        #expect(try Files.status(first.work(token)) == nil)
        #expect(try Files.status(second.work(token)) != nil)
        // A folder of one node may be of a machine that had another name.
        try DataFolder(path: folder.path, node: "c").removeWork()
        #expect(try Files.status(second.work(token)) == nil)
    }

    private func prepared(_ folder: String) throws -> String {
        try Files.makeFolder(folder)
        return folder
    }

    @Test func aLockIsHeldOnce() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.lock"
        do {
            let lock = try FolderLock(path, holder: "the node a", allowed: "another name")
            let error = #expect(throws: SettingsError.self) {
                try FolderLock(path, holder: "the node a", allowed: "another name")
            }
            #expect(error?.message == "another process is the node a" && error?.given == path)
            withExtendedLifetime(lock) {}
        }
        _ = try FolderLock(path, holder: "the node a", allowed: "another name")
        #expect(throws: FileError.self) {
            try FolderLock(folder.path + "/none/a.lock", holder: "the node a", allowed: "another name")
        }
    }

    @Test func uploadsAreFoundByAnyNode() async throws {
        let folder = try TemporaryFolder()
        var settings = ServiceSettings()
        settings.diskReserve = 0
        let data = try DataFolder(path: folder.path, node: "a", isShared: true)
        let other = try DataFolder(path: folder.path, node: "b", isShared: true)
        let uploads = try UploadStore(data: data, settings: settings)
        let id = try await uploads.create(name: "film.mp4", size: 0)
        #expect(try UploadRecord.file(ofID: id, in: other) == nil)
        _ = try await uploads.complete(id, size: 0, sha256: "0")
        #expect(try UploadRecord.file(ofID: id, in: other) == "\(data.upload(id))/data")
        try await uploads.delete(id)
        #expect(try UploadRecord.file(ofID: id, in: other) == nil)
    }

    @Test func numbersOfOthersDoNotTrap() {
        #expect(Int(limiting: .nan) == 0)
        #expect(Int(limiting: .infinity) == .max)
        #expect(Int(limiting: -.infinity) == .min)
        #expect(Int(limiting: 1e300) == .max)
        #expect(Int(limiting: -7.9) == -7)
        #expect(!Timestamp(seconds: .infinity).description.isEmpty)
        let meter = ProgressMeter()
        for clock in [0.0, 1, 2] {
            let told = CommandProgress(
                time: clock * 1e-300,
                expectedDuration: 1e-300,
                framesOut: .max,
                bytes: clock > 0 ? .max : 0
            )
            _ = meter.add(told, at: clock, date: 1e300)
        }
        #expect(WebhookSender.nextAttempt(after: 1, at: 0, retryAfter: .nan, jitter: 0) == 5)
        #expect(WebhookSender.nextAttempt(after: 1, at: 0, retryAfter: .infinity, jitter: 0) == 5)
    }

    @Test func byteCounts() {
        #expect(Setting.byteCount("20G") == 20 << 30)
        #expect(Setting.byteCount("1k") == 1024)
        #expect(Setting.byteCount("99999999T") == nil)
        #expect(Setting.byteCount("") == nil)
        #expect(Setting.byteCount("x") == nil)
    }

    @Test(arguments: [("a%20b", "a b"), ("%C3%A9", "é"), ("plain", "plain")])
    func percentDecoding(_ text: String, _ decoded: String) {
        #expect(PercentEncoding.decode(text) == decoded)
        #expect(PercentEncoding.decode(PercentEncoding.encode(decoded)) == decoded)
    }

    @Test(arguments: ["%", "%2", "%zz", "%ff"])
    func malformedPercentEncodingIsNone(_ text: String) { #expect(PercentEncoding.decode(text) == nil) }

    @Test func webhookSignaturesAreThoseOfTheSpecification() {
        // The example of the specification of Standard Webhooks.
        let signature = WebhookSecrets.signature(
            secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8)
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func webhooksAreRepeatedForMoreThanThreeDays() {
        var time = 0.0
        var attempts = 0
        while attempts < 100 {
            attempts += 1
            guard let next = WebhookSender.nextAttempt(after: attempts, at: time, retryAfter: nil, jitter: 0) else {
                break
            }
            #expect(next > time)
            time = next
        }
        #expect(attempts == WebhookSender.pauses.count + 1)
        #expect(time > 3 * 86_400)
        #expect(WebhookSender.nextAttempt(after: 1, at: 0, retryAfter: 600, jitter: 0) == 600)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import NIOCore
import Streaming
import StreamingPlaylists
import Synchronization
import TestSupport
import Testing

@testable import LiveHLS

/// What is sent to a server, and in which order.
struct UploadQueueTests {
    /// A store whose files wait in a queue, and a server that has got some of them.
    final class Place: LiveStore {
        struct State {
            var queue = UploadQueue()
            var now = 0.0
            var files: [String: [UInt8]] = [:]
            var texts: [String: String] = [:]
            var problems: [String] = []
        }

        let holdsRequests = false
        let state = Mutex(State())

        func write(_ path: String, _ content: [ByteBuffer]) throws(MediaError) {
            state.withLock { state in
                let isNeeded = Rendition.isInitialization(path)
                state.queue.add(.init(path: path, content: content, arrival: state.now, isNeeded: isNeeded))
            }
        }

        func publish(_ presentation: PresentationState) throws(MediaError) {
            state.withLock { $0.queue.add(presentation) }
        }

        func remove(_ paths: [String]) { state.withLock { $0.queue.add(deletions: paths) } }

        /// Lets the server do what waits.
        ///
        /// - Parameter takes: Whether it takes a file or a playlist with a path.
        func serve(at now: Double, _ takes: (String) -> Bool = { _ in true }) {
            state.withLock { state in
                state.now = now
                while let work = state.queue.next(at: now), state.take(work, takes) {}
            }
        }
    }

    private func packager(_ place: Place, window: Double = 12) throws -> LivePackager {
        var options = HLSOptions()
        options.segment = 2
        options.window = MediaTime(seconds: window, preferredTimescale: 1000)
        options.keyFrameInterval = MediaTime(value: 2, timescale: 1)
        return try LivePackager(options, store: place, token: "t")
    }

    private func add(_ units: [LiveUnit], to packager: inout LivePackager, _ step: (Double) -> Void) throws {
        for unit in units {
            let now = unit.decodeTime
            let date = try #require(WallClockTime(milliseconds: Int64(1_790_000_000_000 + now.seconds * 1000)))
            try packager.add(unit, at: now, date: date)
            step(now.seconds)
        }
    }

    @Test func allArrivesInItsOrder() throws {
        let stream = try LivePackagerTests.clip.get()
        let place = Place()
        var packager = try packager(place)
        try packager.begin(stream.tracks, at: .zero)
        try add(stream.units(to: 60), to: &packager) { place.serve(at: $0) }
        try packager.finish(at: MediaTime(value: 60, timescale: 1))
        place.serve(at: 60)
        try place.state.withLock { state in
            #expect(state.problems == [])
            #expect(state.queue.isEmpty && state.queue.waitingBytes == 0 && state.queue.missingCount == 0)
            let listed = Listed(try #require(state.texts["video/index.m3u8"]))
            #expect(listed.isEnded && listed.segments.count == 6)
            // Those that players may still ask for, and none that are older.
            #expect(state.files.keys.filter { $0.hasPrefix("video/t-segment-") }.count < 20)
            #expect(state.texts["index.m3u8"]?.contains("video/index.m3u8") == true)
        }
    }

    @Test(arguments: 0..<20) func aServerThatFailsNeverGetsAPlaylistWithoutItsFiles(seed: UInt64) throws {
        let stream = try LivePackagerTests.clip.get()
        let place = Place()
        place.state.withLock { $0.queue.limits.age = 6 }
        var random = SplitMix(seed)
        var (isAway, until) = (false, 0.0)
        var packager = try packager(place, window: 150)
        try packager.begin(stream.tracks, at: .zero)
        try add(stream.units(to: 120), to: &packager) { now in
            if now > until { (isAway, until) = (!isAway, now + Double(random.below(12))) }
            if !isAway { place.serve(at: now) { _ in !random.isOne(of: 3) } }
        }
        try packager.finish(at: MediaTime(value: 120, timescale: 1))
        place.serve(at: 120)
        try place.state.withLock { state in
            #expect(state.problems == [])
            #expect(state.queue.isEmpty && state.queue.waitingBytes == 0)
            let listed = Listed(try #require(state.texts["video/index.m3u8"]))
            #expect(listed.isEnded && listed.segments.count + listed.gapSegments >= 30)
            let gaps = listed.gapSegments + Listed(try #require(state.texts["audio-1/index.m3u8"])).gapSegments
            #expect(gaps == state.queue.missingCount)
        }
    }

    @Test func lateFilesAreLeftOut() throws {
        var queue = UploadQueue(limits: .init(age: 10, byteCount: 100))
        let bytes = ByteBuffer(repeating: 1, count: 40)
        queue.add(.init(path: "video/i.mp4", content: [bytes], arrival: 0, isNeeded: true))
        queue.add(.init(path: "video/1.m4s", content: [bytes], arrival: 1, isNeeded: false))
        #expect(queue.age(at: 3) == 3)
        guard case .files(let first) = queue.next(at: 10.5) else { throw MediaError(.invalidState, "no files") }
        #expect(first.map(\.path) == ["video/i.mp4", "video/1.m4s"])
        guard case .files(let rest) = queue.next(at: 11) else { throw MediaError(.invalidState, "no files") }
        #expect(rest.map(\.path) == ["video/i.mp4"])
        #expect(queue.missing == ["video/1.m4s"] && queue.waitingBytes == 40 && queue.addedBytes == 40)
        // What never came need not be deleted.
        queue.add(deletions: ["video/1.m4s", "video/0.m4s"])
        queue.finish(file: "video/i.mp4")
        guard case .deletions(let paths) = queue.next(at: 12) else { throw MediaError(.invalidState, "no deletions") }
        #expect(paths == ["video/0.m4s"] && queue.missing == [])
        // The oldest go if there are too many bytes.
        for number in 0..<4 {
            queue.add(.init(path: "video/\(number)", content: [bytes], arrival: 12, isNeeded: false))
        }
        guard case .files(let newest) = queue.next(at: 12) else { throw MediaError(.invalidState, "no files") }
        #expect(newest.map(\.path) == ["video/2", "video/3"] && queue.missingCount == 3)
    }

    @Test func retriesEndAfterTheSilence() {
        var retries = UploadRetries(silence: 10)
        retries.begin(at: 100)
        #expect(retries.fail(at: 100) == 0)
        #expect(retries.fail(at: 101) == 0.25)
        retries.begin(at: 101)
        #expect(retries.fail(at: 102) == 0.5)
        #expect(retries.fail(at: 109.9) == 1)
        #expect(retries.fail(at: 109.9) == 1.5)
        #expect(retries.fail(at: 110) == nil)
        retries.succeed()
        retries.begin(at: 111)
        #expect(retries.fail(at: 120) == 0)
    }

    @Test(arguments: [
        (200, "done"), (201, "done"), (204, "done"), (301, "refused"), (307, "refused"), (400, "refused"),
        (401, "refused"), (403, "refused"), (404, "refused"), (405, "refused"), (408, "later"), (409, "refused"),
        (413, "refused"), (423, "later"), (425, "later"), (429, "later"), (500, "later"), (501, "refused"),
        (502, "later"), (503, "later"), (504, "later"), (505, "refused"), (507, "later"),
    ])
    func anAnswerToAFile(status: Int, expected: String) {
        let answer = UploadAnswer(status: status, reason: "Some Reason", location: "https://other/?token=secret")
        for hasStored in [false, true] {
            switch UploadVerdict(answer, to: .store, hasStored: hasStored) {
            case .done: #expect(expected == "done")
            case .later(let error): #expect(expected == "later" && !error.isPermanent)
            case .refused(let error):
                #expect(expected == "refused" && error.isPermanent)
                // A receiver that has taken the stream may refuse it for now.
                #expect(error.code == (hasStored ? .unavailable : .unsupported))
                #expect(!error.readable.contains("secret"))
            }
        }
    }

    @Test(arguments: [(200, true), (404, true), (403, true), (405, true), (401, false), (302, false), (503, false)])
    func anAnswerToAQuestion(status: Int, isThere: Bool) {
        #expect((UploadVerdict(UploadAnswer(status: status), to: .look, hasStored: false) == .done) == isThere)
    }
}

extension UploadQueueTests.Place.State {
    /// - Returns: Whether everything was taken.
    fileprivate mutating func take(_ work: UploadQueue.Work, _ takes: (String) -> Bool) -> Bool {
        var all = true
        switch work {
        case .files(let some):
            for file in some {
                guard takes(file.path) else {
                    all = false
                    continue
                }
                files[file.path] = file.content.flatMap { Array($0.readableBytesView) }
                queue.finish(file: file.path)
            }
        case .playlists(let some):
            for text in some {
                guard takes(text.path) else {
                    all = false
                    continue
                }
                note(text)
                queue.finish(text)
            }
        case .deletions(let paths):
            for path in paths {
                if files.removeValue(forKey: path) == nil { problems.append("\(path) is deleted, and is not there") }
            }
            queue.finish(deletions: paths)
        }
        return all
    }

    private mutating func note(_ text: PublishedTexts.Text) {
        texts[text.path] = text.content
        let folder = text.path.dropLast("index.m3u8".count)
        let listed = Listed(text.content)
        let names = listed.segments + listed.parts + listed.maps
        for name in names where files["\(folder)\(name)"] == nil && texts["\(folder)\(name)"] == nil {
            problems.append("\(text.path) names \(name), which is not there")
        }
    }
}

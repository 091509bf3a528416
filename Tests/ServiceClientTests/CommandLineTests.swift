// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@testable import ServiceCommandLine

@Suite("The command line of the service")
struct CommandLineTests {
    private static func submissions(_ arguments: String...) throws -> [Submission] {
        let command = try ServiceCommands.parse(["submit"] + arguments)
        return try #require(command as? SubmitCommand).submissions()
    }

    private static func refusal(_ arguments: String...) throws -> String {
        let command = try #require(try ServiceCommands.parse(["submit"] + arguments) as? SubmitCommand)
        let error = #expect(throws: UsageError.self) { try command.submissions() }
        return error?.description ?? ""
    }

    @Test("Arguments are files or URLs")
    func sources() throws {
        let found = try Self.submissions("a.mov", "HTTPS://h/b.mov?x=1", "--input-path", "films/c", "-o", "{name}.mp4")
        #expect(
            found.map(\.source) == [
                .file("a.mov"), .remote(.url("HTTPS://h/b.mov?x=1")), .remote(.path("films/c")),
            ]
        )
        #expect(found[1].request().outputs[0].name == "b.mp4")
        #expect(try Self.refusal("http://h h/b", "-o", "x.mp4").contains("--input-url"))
    }

    @Test("Objects and destinations")
    func stores() throws {
        let place = "s3://films/out/"
        let found = try Self.submissions(
            "s3://films/in/a.mov",
            "-o",
            "{name}.mp4",
            "--store",
            "main",
            "--destination",
            place,
            "--destination-overwrite"
        )
        let request = try #require(found.first).request()
        #expect(found[0].source.text == "s3://films/in/a.mov")
        #expect(request.outputs[0].name == "a.mp4")
        #expect(request.input.s3?.bucket == "films" && request.input.s3?.key == "in/a.mov")
        #expect(request.input.s3?.store == "main")
        #expect(request.destination?.s3?.prefix == "out" && request.destination?.s3?.store == "main")
        #expect(request.destination?.overwrite == true)
        let folder = try Self.submissions("a.mov", "-o", "a.mp4", "--destination", "films/done")
        #expect(folder.first?.request().destination?.path == "films/done")
        #expect(folder.first?.request().destination?.overwrite == false)
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--destination", "s3://F/x").contains("--destination"))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--destination", "/etc").contains("--destination"))
    }

    @Test("Options become the request")
    func request() throws {
        let submission = try #require(
            try Self.submissions(
                "clips/a film.mov",
                "-o",
                "{name}.mp4",
                "--codec",
                "hevc",
                "--crf",
                "21",
                "--peak-bitrate",
                "4.5M",
                "--size",
                "1280x720",
                "--fit",
                "aspect-fill",
                "--preset",
                "slow",
                "--audio",
                "aac",
                "--audio-bitrate",
                "128k",
                "--audio-loudness",
                "-23",
                "--start",
                "01:30",
                "--duration",
                "10.5",
                "--queue",
                "night",
                "--priority",
                "9",
                "--label",
                "a=b=c",
                "--label",
                "d=",
                "--bit-depth",
                "10",
                "--keyframe-interval",
                "5s",
                "--b-frames",
                "2",
                "--accept-damage",
                "--attempts",
                "1"
            ).first
        )
        #expect(submission.source == .file("clips/a film.mov"))
        let request = submission.request(upload: "u1")
        #expect(request.input.upload == "u1")
        #expect((request.input.start, request.input.duration) == (90, 10.5))
        #expect((request.queue, request.priority, request.attempts) == ("night", 9, 1))
        #expect(request.labels == ["a": "b=c", "d": ""])
        #expect(request.damagedInput == .accept)
        let output = try #require(request.outputs.first)
        #expect((output.kind, output.name) == (.file, "a film.mp4"))
        var video = VideoSettings()
        video.codec = .hevc
        video.quality = 21
        video.peakBitRate = 4_500_000
        (video.width, video.height, video.scaling) = (1280, 720, .fill)
        (video.preset, video.bitDepth, video.keyFrameInterval, video.bFrames) = (.slow, .bits10, 5, 2)
        #expect(output.video == video)
        #expect((output.audio.codec, output.audio.bitRate, output.audio.loudness) == (.aac, 128_000, -23))
    }

    @Test("Settings go to the outputs whose kinds have them")
    func kinds() throws {
        let request = try #require(
            try Self.submissions(
                "a.mov",
                "-o",
                "a.mp4",
                "-o",
                "a.m3u8",
                "-o",
                "a-%03d.png",
                "--ladder",
                "360p:1M,180p",
                "--interval",
                "5",
                "--segment-duration",
                "4",
                "--fragmented",
                "--preset",
                "fast"
            ).first
        ).request()
        #expect(request.outputs.map(\.kind) == [.file, .hls, .thumbnails])
        #expect(request.outputs.map(\.fragmented) == [true, false, false])
        #expect(request.outputs.map(\.ladder.count) == [0, 2, 0])
        #expect(request.outputs.map(\.interval) == [nil, nil, 5])
        #expect(request.outputs.map(\.video.preset) == [.fast, .fast, nil])
    }

    @Test("A ladder makes files")
    func fileLadder() throws {
        let outputs = try #require(
            try Self.submissions("a.mov", "-o", "{name}-{height}p.mp4", "--ladder", "360p:1M,180p:400k").first
        ).request().outputs
        #expect(outputs.map(\.name) == ["a-360p.mp4", "a-180p.mp4"])
        #expect(outputs.map(\.video.height) == [360, 180])
        #expect(outputs.map(\.video.bitRate) == [1_000_000, 400_000])
    }

    @Test("Several inputs, which may be those of the service")
    func inputs() throws {
        let submissions = try Self.submissions(
            "a.mov",
            "--input-path",
            "films/b.mov",
            "--input-url",
            "https://example.com/c.mov?secret=1",
            "-o",
            "{name}.mkv"
        )
        #expect(submissions.map { $0.request().outputs[0].name } == ["a.mkv", "b.mkv", "c.mkv"])
        #expect(submissions[1].request().input.source == .path("films/b.mov"))
        #expect(submissions[2].source.text == "https://example.com/c.mov")
    }

    @Test("What the service would refuse is refused in terms of options")
    func refusals() throws {
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--crf", "60").hasPrefix("--crf: "))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--crf", "60").contains("given 60; allowed: 0"))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--size", "321x180").hasPrefix("--size: "))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--priority", "101").hasPrefix("--priority: "))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--b-frames", "17").hasPrefix("--b-frames: "))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--dash").hasPrefix("--dash: "))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--ladder", "360p").hasPrefix("--ladder: "))
        #expect(try Self.refusal("a.mov", "-o", "a.m3u8").hasPrefix("--ladder: "))
        #expect(try Self.refusal("a.mov", "-o", "a.mp4", "--audio-bitrate", "1M").hasPrefix("--audio-bitrate: "))
        #expect(try Self.refusal("--input-path", "/etc/passwd", "-o", "a.mp4").hasPrefix("--input-path: "))
        #expect(try Self.refusal("a.mov", "-o", "a.avi").contains("given -o a.avi; allowed: .mp4"))
        #expect(try Self.refusal("a.mov", "-o", "b/a.mp4").contains("--download"))
        #expect(try Self.refusal("a.mov", "-o", "a-{height}.mp4").contains("--ladder"))
        #expect(try Self.refusal("a.mov").contains("-o NAME"))
        #expect(try Self.refusal("-o", "a.mp4").contains("no input"))
        #expect(try Self.refusal("a.mov", "b.mov", "-o", "a.mp4", "--download", "d").contains("{name}"))
    }

    @Test("The URL and the key come from options, then from the environment")
    func connection() throws {
        func options(_ arguments: String...) throws -> ConnectionOptions {
            try #require(try ServiceCommands.parse(["status"] + arguments) as? StatusCommand).connection
        }
        let environment = ["VATOOLBOX_URL": "http://e", "VATOOLBOX_KEY": "ek"]
        func unread(_ path: String) -> String { "no file should be read" }
        #expect(try options().url(environment: [:]) == "http://127.0.0.1:8080")
        #expect(try options().url(environment: environment) == "http://e")
        #expect(try options("--url", "http://o").url(environment: environment) == "http://o")
        #expect(try options().key(environment: [:], read: unread) == nil)
        #expect(try options().key(environment: environment, read: unread) == "ek")
        #expect(try options("--key", "ok").key(environment: environment, read: unread) == "ok")
        #expect(try options("--key-file", "f").key(environment: environment) { "\($0)-secret\n" } == "f-secret")
        #expect(throws: (any Error).self) { try options("--key", "a", "--key-file", "b") }
    }

    @Test("A subcommand of jobs is list by default")
    func jobs() throws {
        let command = try ServiceCommands.parse(["jobs", "--state", "failed", "--label", "a=b"])
        let list = try #require(command as? JobsCommand.List)
        #expect(list.state == .failed)
        #expect(throws: (any Error).self) { try ServiceCommands.parse(["jobs", "show"]) }
        #expect(throws: (any Error).self) { try ServiceCommands.parse(["jobs", "--state", "odd"]) }
        // Of encode, that would be frames.
        #expect(throws: (any Error).self) { try ServiceCommands.parse(["submit", "a", "--keyframe-interval", "5"]) }
    }
}

@Suite("Texts about jobs")
struct JobTextTests {
    private static func job(_ id: String, _ state: JobState, _ change: (inout JobSummary) -> Void = { _ in })
        -> JobSummary
    {
        var job = JobSummary()
        job.id = id
        job.state = state
        job.queue = "default"
        job.input = "media/films/a film with a rather long name.mov"
        job.createdAt = Timestamp(milliseconds: 1_000_000)
        var output = OutputSummary()
        output.name = "out.mp4"
        job.outputs = [output]
        change(&job)
        return job
    }

    private static let now = Timestamp(milliseconds: 1_000_000 + 3 * 3_600_000)

    @Test("A table fits 80 columns, also with queues and long names")
    func table() {
        let id = String(repeating: "a", count: 26)
        let jobs = [
            Self.job(id, .running) {
                $0.progress = Progress()
                $0.progress?.fraction = 0.456
                $0.queue = "a-queue-with-a-long-name"
            },
            Self.job(id, .running) { $0.cancelRequested = true }, Self.job(id, .succeeded), Self.job(id, .waiting),
        ]
        let lines = JobTexts.table(jobs, width: 80, now: Self.now).split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
        #expect(lines[1].contains("46 %") && lines[1].contains(" 3h "))
        #expect(lines[2].contains("cancelling"))
        #expect(lines[3].contains("100 %"))
        #expect(Set(lines.map { $0.prefix(28).last }) == [" "])
        #expect(!JobTexts.table([jobs[2]], width: 80, now: Self.now).contains("QUEUE"))
    }

    @Test("Control characters of names do not reach the terminal")
    func controls() {
        let job = Self.job("a", .failed) { $0.input = "x/\u{1B}[2Jevil\n.mov" }
        let text = JobTexts.table([job], width: 80, now: Self.now)
        #expect(!text.contains("\u{1B}"))
        #expect(text.split(separator: "\n").count == 2)
    }

    @Test(
        "Ages have their largest unit",
        arguments: [(0, "0s"), (59, "59s"), (60, "1m"), (3599, "59m"), (3600, "1h"), (172_799, "47h"), (172_800, "2d")]
    )
    func ages(seconds: Int, text: String) {
        let start = Timestamp(milliseconds: 0)
        #expect(JobTexts.age(start, Timestamp(milliseconds: Int64(seconds) * 1000)) == text)
        #expect(JobTexts.age(Timestamp(milliseconds: 5000), start) == "0s")
    }

    @Test("Progress drops what is least important first")
    func progress() {
        var progress = Progress()
        progress.phase = .encoding
        (progress.fraction, progress.time, progress.expectedDuration) = (0.5, 60, 120)
        (progress.framesPerSecond, progress.speed, progress.bitRate, progress.remaining) = (100, 4, 5_000_000, 15)
        let whole = "50 %  encoding  1:00 of 2:00  100 fps  4.00x  5.00 Mbit/s  0:15 left"
        #expect(JobTexts.progress(progress, width: 80) == whole)
        #expect(JobTexts.progress(progress, width: whole.count) == whole)
        #expect(
            JobTexts.progress(progress, width: whole.count - 1)
                == "50 %  encoding  1:00 of 2:00  100 fps  4.00x  0:15 left"
        )
        #expect(JobTexts.progress(progress, width: 30) == "50 %  encoding  0:15 left")
        for width in 0...80 { #expect(JobTexts.progress(progress, width: width).count <= width) }
    }

    @Test("The exit status is that of encode")
    func statuses() {
        func job(_ state: JobState, result: String? = nil) -> Job {
            var job = Job()
            job.state = state
            var output = OutputState()
            if let result { output.result = ["status": .string(result)] }
            job.outputs = [output]
            return job
        }
        #expect(ClientStatus(job(.succeeded, result: "done")) == .done)
        #expect(ClientStatus(job(.succeeded, result: "damaged-input")) == .damagedInput)
        #expect(ClientStatus(job(.failed)) == .failed)
        #expect(ClientStatus(job(.cancelled)) == .failed)
        #expect(ClientStatus(job(.cancelled), wasInterrupted: true) == .interrupted)
        #expect(ClientStatus(job(.succeeded), wasInterrupted: true) == .done)
        #expect(ClientStatus.worst([]) == .done)
        #expect(ClientStatus.worst([.done, .damagedInput, .done]) == .damagedInput)
        #expect(ClientStatus.worst([.damagedInput, .failed, .interrupted]) == .failed)
    }
}

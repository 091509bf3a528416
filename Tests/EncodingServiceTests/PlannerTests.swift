// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore
import ServiceAPI
import Testing

@testable import EncodingService

@Suite struct PlannerTests {
    private func request(_ outputs: [Output]) -> JobRequest {
        JobRequest {
            $0.input.path = "films/a.mov"
            $0.outputs = outputs
        }
    }

    private func output(_ name: String, _ kind: OutputKind = .file) -> Output {
        Output {
            $0.name = name
            $0.kind = kind
        }
    }

    private func ended(_ exit: CommandExit, _ document: String = "") -> CommandResult {
        CommandResult(exit: exit, document: Array(document.utf8), lastLines: ["it broke"])
    }

    @Test func filesShareATaskAndOthersHaveTheirOwn() {
        let request = request([output("a.mp4"), output("b.m3u8", .hls), output("c.mkv"), output("d.vtt", .sprite)])
        #expect(JobPlanner.groups(of: request) == [[0, 2], [1], [3]])
        let tasks = JobPlanner.tasks(of: request, upload: "u1")
        #expect(tasks.map { JobPlanner.outputs(ofPayload: $0.payload) } == [[0, 2], [1], [3]])
        #expect(tasks.allSatisfy { JobPlanner.upload(ofPayload: $0.payload) == "u1" })
    }

    @Test func partsAreTasksBeforeTheirOutput() {
        var parted = output("a.mp4")
        parted.parts = 3
        var request = request([parted, output("b.mp4"), output("c.mp4")])
        request.destination = Destination { $0.path = "/media/out" }
        let tasks = JobPlanner.tasks(of: request, upload: "u1")
        let (part, encode) = (JobPlanner.partKind, JobPlanner.encodingKind)
        let demands = tasks.map { $0.demand.abilities.contains(JobPlanner.chunkAbility) }
        #expect(demands == [false, true, true, true, true, false])
        #expect(tasks.prefix(5).allSatisfy { Admission.Resource($0.demand) == .devices })
        // Files without parts share a task.
        #expect(tasks.map(\.kind) == [encode, part, part, part, encode, JobPlanner.deliveryKind])
        #expect(tasks.map(\.dependencies) == [[], [], [], [], [1, 2, 3], [0, 1, 2, 3, 4]])
        #expect(tasks.prefix(5).map { JobPlanner.outputs(ofPayload: $0.payload) } == [[1, 2], [0], [0], [0], [0]])
        #expect(tasks.prefix(5).allSatisfy { JobPlanner.upload(ofPayload: $0.payload) == "u1" })
        let parts = tasks.map { JobPlanner.part(ofPayload: $0.payload) }
        #expect(parts[0] == nil && parts[2] == JobPlanner.Part(number: 2, count: 3) && parts[4] == nil)
        func arguments(_ chunks: JobPlanner.Chunks?) -> [String] {
            JobPlanner.arguments(of: request, outputs: [0], input: "/i", folder: "/o", chunks: chunks)
        }
        #expect(arguments(nil) == arguments(nil).filter { !$0.hasPrefix("--checkpoints") })
        let part2 = arguments(.init(folder: "/c", part: parts[2])).suffix(3)
        #expect(part2 == ["--checkpoints=/c", "--only-chunks=2/3", "--keep-chunks"])
        #expect(arguments(.init(folder: "/c")).suffix(2) == ["--checkpoints=/c", "--keep-chunks"])
    }

    @Test func tasksDemandWhatTheyWorkWith() {
        var request = request([output("a.mp4"), output("b.m3u8", .hls), output("d.vtt", .sprite)])
        request.destination = Destination { $0.path = "/media/out" }
        func resources() -> [Admission.Resource?] {
            JobPlanner.tasks(of: request, upload: nil).map { Admission.Resource($0.demand) }
        }
        #expect(resources() == [.devices, .devices, .processors, nil])
        request.device = "software"
        #expect(resources() == [.processors, .processors, .processors, nil])
        request.device = "/dev/dri/renderD128"
        #expect(resources() == [.devices, .devices, .processors, nil])
    }

    @Test func afterALossTheOtherGPUsAreTriedAndThenTheCPU() {
        let usable = ["/dev/dri/renderD128", "/dev/dri/renderD129"]
        let lost = Failure(code: "stalled", message: "", isRetriable: true)
        func devices(
            after failure: Failure?,
            free: [String]? = nil,
            profiles: [[String]] = [["a"], ["a"]],
            _ change: (inout JobRequest) -> Void = { _ in }
        ) -> [String] {
            var request = request([output("a.mp4")])
            change(&request)
            let devices = JobPlanner.Devices(
                after: failure,
                usable: zip(usable, profiles).map { node, profiles in
                    Device {
                        $0.node = node
                        $0.encodes = profiles
                    }
                },
                free: free ?? usable
            )
            return JobPlanner.arguments(of: request, outputs: [0], input: "/i", folder: "/o", devices: devices)
                .filter { $0.hasPrefix("--device=") || $0 == "--spread" || $0 == "--require-hardware" }
        }
        #expect(devices(after: nil) == ["--device=auto", "--spread"])
        // Where the others are busy, if none is asked for.
        #expect(devices(after: nil, free: [usable[1]]) == ["--device=\(usable[1])", "--spread"])
        #expect(devices(after: nil, free: [usable[1]]) { $0.device = "software" } == ["--device=software"])
        // Not where that loses an encoder.
        let lacking = devices(after: nil, free: [usable[1]], profiles: [["a", "b"], ["a"]])
        #expect(lacking == ["--device=auto", "--spread"])
        let more = devices(after: nil, free: [usable[1]], profiles: [["a"], ["b", "a"]])
        #expect(more == ["--device=\(usable[1])", "--spread"])
        let named = devices(after: nil, free: [usable[1]]) { $0.device = usable[0] }
        #expect(named == ["--device=\(usable[0])", "--spread"])
        let other = Failure(code: "unsupported", message: "", isRetriable: false, details: "{}")
        #expect(JobPlanner.noting(usable[0], in: other, after: nil) == other)
        #expect(devices(after: other) == ["--device=auto", "--spread"])

        let first = JobPlanner.noting(usable[0], in: lost, after: nil)
        #expect(devices(after: first) == ["--device=\(usable[1])", "--spread"])
        #expect(devices(after: first) { $0.afterLoss = .software } == ["--device=software"])
        // Which was asked for is not exchanged for another one.
        #expect(devices(after: first) { $0.device = usable[0] } == ["--device=software"])
        let second = JobPlanner.noting(usable[1], in: lost, after: first)
        #expect(devices(after: second) == ["--device=software"])
        let kept = devices(after: second) { $0.requireHardware = true }
        #expect(kept == ["--device=auto", "--spread", "--require-hardware"])
        // Twice on the same one, or on the CPU, adds none.
        #expect(JobPlanner.noting(usable[0], in: lost, after: first) == first)
        #expect(JobPlanner.noting(nil, in: lost, after: first) == first)
        // Before an encoder was there, nobody knows.
        #expect(devices(after: JobPlanner.noting(nil, in: lost, after: nil)) == ["--device=software"])
        // Another failure in between ends the row.
        #expect(
            JobPlanner.noting(usable[1], in: lost, after: other).details == #"{"lostDevices":["/dev/dri/renderD129"]}"#
        )
    }

    @Test func aTargetIsAnOptionAndItsPredictionWritesNothing() {
        var outputs = [output("a.mp4"), output("b.mp4")]
        outputs[1].video.target = QualityTarget {
            $0.metric = .ssim
            $0.score = 0.98
        }
        let request = request(outputs)
        let arguments = JobPlanner.arguments(of: request, outputs: [0, 1], input: "/i", folder: "/o")
        #expect(arguments.count { $0 == "--target=ssim:0.98" } == 1 && !arguments.contains("--target-shortfall=best"))
        let prediction = JobPlanner.predictionArguments(of: request, outputs: [1], input: "/i", folder: "/o")
        let place = prediction.firstIndex(of: "--target-only")
        #expect(place.map { prediction[$0 + 1] == "-o" } == true && !prediction.contains("/o/a.mp4"))
        outputs[1].video.target?.shortfall = .best
        let best = JobPlanner.arguments(of: self.request(outputs), outputs: [1], input: "/i", folder: "/o")
        #expect(best.contains("--target-shortfall=best"))
        #expect(WorkerCommand(arguments: ["--target=vmaf:95.0"]).measuresVMAF)
        #expect(!WorkerCommand(arguments: arguments).measuresVMAF)
    }

    /// A score that no quality reaches is the same at the next attempt.
    @Test func anUnreachableTargetIsNotTriedAgain() {
        let document = #"{"error": {"code": "target-unreachable", "message": "no", "remedies": ["ask for less"]}}"#
        let failure = JobPlanner.failure(of: request([output("a.mp4")]), ended(.status(1), document))
        #expect(failure?.code == "target-unreachable" && failure?.isRetriable == false)
    }

    /// Values that begin with a hyphen are values.
    @Test func noValueBecomesAnOption() {
        var request = request([output("--help.mp4")])
        request.input.format = "-x"
        let arguments = JobPlanner.arguments(of: request, outputs: [0], input: "/i", folder: "/o")
        #expect(arguments.contains("--input-format=-x"))
        #expect(arguments.contains("/o/--help.mp4"))
    }

    @Test func onlyAVerifiedResultIsOne() {
        let request = request([output("a.mp4")])
        func shortcoming(_ files: [String], _ document: String?) -> Failure? {
            JobPlanner.shortcoming(
                of: request,
                outputs: [0],
                files: files,
                document.flatMap { try? JSONValue(parsing: $0) }
            )
        }
        let verified = #"{"verification": {"frames": 5}}"#
        #expect(shortcoming(["a.mp4"], verified) == nil)
        for (files, document) in [
            (["a.mp4"], nil), ([], verified), (["b.mp4"], verified), (["a.mp4"], "{}"),
            (["a.mp4"], #"{"verification": null}"#), (["a.mp4"], #"{"verification": {"frames": 0}}"#),
            (["a.mp4"], #"{"outputs": []}"#), (["a.mp4"], #"{"outputs": [{"verification": {"frames": 5}}, {}]}"#),
        ] {
            #expect(shortcoming(files, document)?.code == "verification-failed", "\(files) \(document ?? "none")")
        }
    }

    @Test func endsOfCommandsHaveStableCodes() {
        var request = request([output("a.mp4")])
        #expect(JobPlanner.failure(of: request, ended(.status(0))) == nil)
        let damaged = JobPlanner.failure(of: request, ended(.status(3)))
        #expect(damaged?.code == "damaged-input" && damaged?.isRetriable == false)
        request.damagedInput = .accept
        #expect(JobPlanner.failure(of: request, ended(.status(3))) == nil)
        let error = #"{"error": {"code": "unsupported", "message": "no", "remedies": ["yes"]}}"#
        let unsupported = JobPlanner.failure(of: request, ended(.status(1), error))
        #expect(unsupported?.code == "unsupported" && unsupported?.isRetriable == false)
        #expect(unsupported?.details?.contains("yes") == true)
        #expect(JobPlanner.failure(of: request, ended(.status(1)))?.message.contains("it broke") == true)
        #expect(JobPlanner.failure(of: request, ended(.signal("SIGSEGV")))?.isRetriable == true)
        #expect(JobPlanner.failure(of: request, ended(.stalled(9)))?.code == "stalled")
        #expect(JobPlanner.failure(of: request, ended(.tooMuchMemory(9)))?.code == "out-of-memory")
    }
}

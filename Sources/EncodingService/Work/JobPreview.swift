// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import ServiceAPI

/// What a job would do: its commands, and what a short sample of the input tells about encoder, time and size.
struct JobPreview: Sendable {
    let data: DataFolder
    let inputs: InputResolver
    let commands: any CommandRunning
    var inspection: MediaInspection { MediaInspection(commands: commands) }

    /// How much of the input is encoded, in seconds.
    private static let sample = 1.0
    private static let timeLimit = 60.0
    /// How long a search for a quality may take, in seconds.
    private static let searchTimeLimit = 600.0
    /// The quality of the sample of an output with a target.
    private static let usualQuality = 24.0

    /// Makes the plan of a resolved request.
    ///
    /// - Throws: `APIError` `invalid-request` if the command refuses the request, with what it says.
    func plan(_ request: JobRequest, upload: String?) async throws -> Plan {
        try await inputs.withFile(of: request.input, upload: upload, folder: data.newPreview()) { input in
            try await plan(request, of: input)
        }
    }

    private func plan(_ request: JobRequest, of input: String) async throws -> Plan {
        var plan = Plan()
        plan.input = try await inspection.report(on: input, as: request.input)
        plan.request = request
        var duration = 0.0
        var size = 0.0
        for group in JobPlanner.groups(of: request) {
            let folder = data.newPreview()
            try await FileWork.run { try Files.makeFolder(folder) }
            defer { Task { try? await FileWork.run { try Files.remove(folder) } } }
            let document = try await encodeSample(of: request, group, input, folder)
            let documents = document["outputs"].map(\.elements) ?? [document]
            let targets = try await predict(request, group, input, folder)
            plan.targets += targets
            let isEncode = !request.outputs[group[0]].kind.isPictures
            let rest = plan.input.duration.map { max($0 - (request.input.start ?? 0), 0) }
            let whole = [request.input.duration, rest].compactMap(\.self).min()
            for (place, result) in documents.enumerated() where isEncode {
                guard let encoded = result["duration"]?.double, encoded > 0, let whole else { continue }
                let bytes = Double(result["output"]?["bytes"]?.integer ?? 0)
                if let target = targets.first(where: { group.indices.contains(place) && $0.output == group[place] }) {
                    let video = (result["bitRate"]?["delivered"]?.double ?? 0) * encoded / 8
                    duration += target.result.predicted.duration
                    size += Double(target.result.predicted.size) + max(bytes - video, 0) / encoded * whole
                } else {
                    duration += (result["wallTime"]?.double ?? 0) / Double(documents.count) / encoded * whole
                    size += bytes / encoded * whole
                }
            }
            if plan.encoder == nil, isEncode {
                plan.encoder = documents.first.flatMap(JobView.encoder).map { encoder in
                    PlannedEncoder {
                        $0.name = encoder.name
                        $0.codec = encoder.codec
                        $0.device = encoder.device
                        $0.reason = encoder.reason
                    }
                }
            }
            plan.warnings += documents.flatMap(JobView.warnings)
            for _ in 0..<(request.outputs[group[0]].parts ?? 0) {
                plan.tasks.append(
                    PlannedTask {
                        $0.index = plan.tasks.count
                        $0.outputs = group
                        $0.kind = JobPlanner.partKind
                    }
                )
            }
            plan.tasks.append(
                PlannedTask {
                    $0.index = plan.tasks.count
                    $0.outputs = group
                    $0.kind = isEncode ? "encode" : "thumbnails"
                    $0.command =
                        ["vatoolbox"] + JobPlanner.arguments(of: request, outputs: group, input: "INPUT", folder: ".")
                }
            )
        }
        if request.destination != nil {
            plan.tasks.append(
                PlannedTask {
                    $0.index = plan.tasks.count
                    $0.outputs = Array(request.outputs.indices)
                    $0.kind = JobPlanner.deliveryKind
                }
            )
        }
        if duration > 0 {
            plan.estimate = Estimate {
                $0.duration = duration
                $0.size = Int(limiting: size)
            }
        }
        return plan
    }

    /// Finds the qualities of outputs with a target.
    private func predict(
        _ request: JobRequest,
        _ group: [Int],
        _ input: String,
        _ folder: String
    ) async throws -> [PlannedTarget] {
        let outputs = group.filter { request.outputs[$0].video.target != nil }
        if outputs.isEmpty { return [] }
        let document = try await run(
            JobPlanner.predictionArguments(of: request, outputs: outputs, input: input, folder: folder),
            of: request,
            input,
            folder,
            timeLimit: Self.searchTimeLimit,
            whatFails: "The search for the quality"
        )
        let documents = document["outputs"].map(\.elements) ?? [document]
        return zip(outputs, documents).compactMap { output, document in
            JobView.target(document).map { result in
                PlannedTarget {
                    $0.output = output
                    $0.result = result
                }
            }
        }
    }

    private func encodeSample(
        of request: JobRequest,
        _ group: [Int],
        _ input: String,
        _ folder: String
    ) async throws -> JSONValue {
        var sample = request
        sample.input.duration = min(request.input.duration ?? .infinity, Self.sample)
        for index in group where sample.outputs[index].video.target != nil {
            // The search is about the whole input.
            sample.outputs[index].video.target = nil
            sample.outputs[index].video.quality = Self.usualQuality
        }
        return try await run(
            JobPlanner.arguments(of: sample, outputs: group, input: input, folder: folder),
            of: sample,
            input,
            folder,
            timeLimit: Self.timeLimit,
            whatFails: "A sample of the job"
        )
    }

    private func run(
        _ arguments: [String],
        of request: JobRequest,
        _ input: String,
        _ folder: String,
        timeLimit: Double,
        whatFails: String
    ) async throws -> JSONValue {
        let command = WorkerCommand(
            arguments: arguments,
            readable: [input],
            writable: [folder],
            readsInput: true,
            timeLimit: timeLimit
        )
        let ended = try await commands.run(command) { _ in
        } onLogLine: { _ in
        }
        let document = ended.json
        var lenient = request
        lenient.damagedInput = .accept
        if let failure = JobPlanner.failure(of: lenient, ended) {
            throw APIError(
                .invalidRequest,
                "\(whatFails) fails: \(failure.message)",
                field: "/",
                value: .string(failure.code),
                allowed: document?["error"]?["allowed"]?.string,
                remedies: document?["error"]?["remedies"]?.elements.compactMap(\.string) ?? [],
                cause: document?["error"]?["cause"]?.string
            )
        }
        guard let document else { throw APIError(.internal, "The command has no result") }
        return document
    }
}

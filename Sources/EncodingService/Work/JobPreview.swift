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
        for (index, group) in JobPlanner.groups(of: request).enumerated() {
            let folder = data.newPreview()
            try await FileWork.run { try Files.makeFolder(folder) }
            defer { Task { try? await FileWork.run { try Files.remove(folder) } } }
            let document = try await encodeSample(of: request, group, input, folder)
            let documents = document["outputs"].map(\.elements) ?? [document]
            let isEncode = !request.outputs[group[0]].kind.isPictures
            let rest = plan.input.duration.map { max($0 - (request.input.start ?? 0), 0) }
            let whole = [request.input.duration, rest].compactMap(\.self).min()
            for result in documents where isEncode {
                guard let encoded = result["duration"]?.double, encoded > 0, let whole else { continue }
                duration += (result["wallTime"]?.double ?? 0) / Double(documents.count) / encoded * whole
                size += Double(result["output"]?["bytes"]?.integer ?? 0) / encoded * whole
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
            plan.tasks.append(
                PlannedTask {
                    $0.index = index
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

    private func encodeSample(
        of request: JobRequest,
        _ group: [Int],
        _ input: String,
        _ folder: String
    ) async throws -> JSONValue {
        var sample = request
        sample.input.duration = min(request.input.duration ?? .infinity, Self.sample)
        let command = WorkerCommand(
            arguments: JobPlanner.arguments(of: sample, outputs: group, input: input, folder: folder),
            readable: [input],
            writable: [folder],
            readsInput: true,
            timeLimit: Self.timeLimit
        )
        let ended = try await commands.run(command) { _ in
        } onLogLine: { _ in
        }
        let document = ended.json
        sample.damagedInput = .accept
        if let failure = JobPlanner.failure(of: sample, ended) {
            throw APIError(
                .invalidRequest,
                "A sample of the job fails: \(failure.message)",
                field: "/",
                value: .string(failure.code),
                allowed: document?["error"]?["allowed"]?.string,
                remedies: document?["error"]?["remedies"]?.elements.compactMap(\.string) ?? [],
                cause: document?["error"]?["cause"]?.string
            )
        }
        guard let document else { throw APIError(.internal, "The sample has no result") }
        return document
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore
internal import ServiceAPI

/// Jobs of the store as clients see them. Pure values, but for what runs at this moment.
struct JobView {
    let live: LiveProgress

    /// Requests, and the warnings of results.
    private static let known = KnownTexts(most: 2000, longest: 16 << 10)

    func job(_ record: JobRecord, waiting: ServiceAPI.WaitingReason?) throws(APIError) -> ServiceAPI.Job {
        var job = try properties(record)
        // A result may list thousands of files: each is read once.
        let results = record.tasks.map { TaskResult(text: $0.result) }
        job.waiting = waiting
        job.outputs = outputs(record, job.request) { task, place, count, output in
            if record.tasks[task].state.isRunning, record.tasks[task].draft.kind == JobPlanner.encodingKind,
                job.request.outputs[output.index].canBePlayedWhileItGrows
            {
                output.playable = Self.url(of: output.name, job.id, in: "preview")
            }
            guard let result = results[task] else { return }
            let document = result.document(ofOutput: place, of: count)
            output.files = result.files.filter { job.request.outputs[output.index].owns($0.path) }.map { file in
                var file = file
                file.url = Self.url(of: file.path, job.id, in: "files")
                return file
            }
            output.encoder = Self.encoder(document)
            output.verification = Self.verification(document)
            output.target = Self.target(document)
            output.result = document
        }
        job.deliveredTo = job.request.destination.flatMap { Self.delivery(record, $0) }
        job.attempts = record.attempts.map { attempt(of: $0, results[$0.task.index]) }
        job.warnings = results.compactMap(\.self).flatMap { Self.warnings(ofResult: $0.document) }
        return job
    }

    /// What lists tell: without files and attempts, and without the reason to wait.
    func summary(_ record: JobRecord) throws(APIError) -> JobSummary {
        var job = try properties(record)
        job.outputs = outputs(record, job.request) { _, _, _, _ in }
        job.warnings = record.tasks.compactMap(\.result).flatMap { text in
            Self.known.value([String].self, text) {
                TaskResult.document(text: text).map { Self.warnings(ofResult: $0) } ?? []
            }
        }
        return JobSummary(job)
    }

    // MARK: Parts

    private static func state(_ state: StoredJobState) -> ServiceAPI.JobState {
        switch state {
        case .waiting: .waiting
        case .running: .running
        case .succeeded: .succeeded
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    private static func state(ofTask state: TaskState) -> ServiceAPI.JobState {
        switch state {
        case .blocked, .ready: .waiting
        case .running: .running
        case .succeeded: .succeeded
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    static func failure(_ failure: Failure) -> FailureInfo {
        let details = failure.details.flatMap { try? JSONValue(parsing: $0) }
        return FailureInfo {
            $0.code = failure.code
            $0.message = failure.message
            $0.given = details?["given"]?.string
            $0.allowed = details?["allowed"]?.string
            $0.cause = details?["cause"]?.string
            $0.remedies = details?["remedies"]?.elements.compactMap(\.string) ?? []
            $0.retriable = failure.isRetriable
        }
    }

    static func reason(
        _ reason: StoredWaitingReason,
        _ status: Dispatcher.Status?
    ) -> ServiceAPI.WaitingReason {
        let hold: Dispatcher.Hold? =
            if case .worker(_, let demand) = reason { status?.hold(of: demand) } else { nil }
        return ServiceAPI.WaitingReason { value in
            switch reason {
            case .worker where hold == .draining:
                value.reason = .draining
                value.message = "The service begins no task: it drains"
            case .worker where hold == .diskFull:
                value.reason = .diskFull
                value.message = "The disk of the service has too little space"
            case .worker where hold == .memoryShort:
                value.reason = .memoryShort
                value.message = "The service has too little memory for another task beside those that run"
            case .worker where hold == .devicesBusy:
                value.reason = .devicesBusy
                value.message = "All GPUs are busy: another task would slow the running ones down"
            case .pause(let until):
                value.reason = .retryPause
                value.message = "A failed attempt is repeated after a pause"
                value.opensAt = Timestamp(until)
            case .queuePaused:
                value.reason = .queuePaused
                value.message = "The queue is paused"
            case .queueClosed:
                value.reason = .queueClosed
                value.message = "The queue is closed at this time of the week"
            case .queueFull(let most):
                value.reason = .queueFull
                value.message = "As many tasks of the queue run as may: \(most)"
            case .worker(let before, _):
                value.reason = before > 0 ? .behind : .noWorker
                value.message =
                    before > 0 ? "\(before) tasks are before it" : "It is next: no further task may begin now"
                value.position = before
            }
        }
    }

    /// What the store itself knows of a job.
    private func properties(_ record: JobRecord) throws(APIError) -> ServiceAPI.Job {
        var job = ServiceAPI.Job()
        job.id = record.job.id.rawValue
        job.state = Self.state(record.job.state)
        job.cancelRequested = record.job.isCancelRequested
        job.queue = record.job.queue
        job.priority = record.job.priority
        job.share = record.job.share
        job.labels = record.job.labels
        job.request = try Self.known.value(JobRequest.self, record.job.request) { () throws(APIError) in
            try JobRequest.decode(json: Array(record.job.request.utf8), mode: .response)
        }
        job.createdAt = Timestamp(record.job.created)
        job.startedAt = record.job.started.map(Timestamp.init)
        job.endedAt = record.job.ended.map(Timestamp.init)
        job.expiresAt = record.job.ended.map { Timestamp($0 + record.job.retention) }
        job.deadline = record.job.deadline.map(Timestamp.init)
        job.failure = record.job.failure.map(Self.failure)
        job.progress = progress(record)
        return job
    }

    /// The outputs in the order of the request. `complete` adds what their results say: it gets the index of the task, the
    /// place of the output in it, the number of its outputs, and the output.
    private func outputs(
        _ record: JobRecord,
        _ request: JobRequest,
        complete: (_ task: Int, _ place: Int, _ count: Int, inout OutputState) -> Void
    ) -> [OutputState] {
        var states: [Int: OutputState] = [:]
        // Outputs of which a part was begun.
        var begun: Set<Int> = []
        for (number, task) in record.tasks.enumerated() {
            let indices = JobPlanner.outputs(ofPayload: task.draft.payload)
            if task.draft.kind == JobPlanner.partKind {
                if task.state.isRunning || task.state == .succeeded { begun.formUnion(indices) }
                continue
            }
            for (place, index) in indices.enumerated() where request.outputs.indices.contains(index) {
                var output = OutputState()
                output.index = index
                output.kind = request.outputs[index].kind
                output.name = request.outputs[index].name
                output.state = Self.state(ofTask: task.state)
                if output.state == .waiting, begun.contains(index) { output.state = .running }
                complete(number, place, indices.count, &output)
                states[index] = output
            }
        }
        return request.outputs.indices.compactMap { states[$0] }
    }

    private static func delivery(_ record: JobRecord, _ destination: Destination) -> DestinationState? {
        guard let task = record.tasks.first(where: { $0.draft.kind == JobPlanner.deliveryKind }) else { return nil }
        return DestinationState {
            $0.state = state(ofTask: task.state)
            $0.location = destination.text
            $0.files = TaskResult(text: task.result)?.delivered ?? []
            $0.failure = task.failure.map(failure)
        }
    }

    private static func url(of path: String, _ job: String, in part: String) -> String {
        let names = path.unicodeScalars.split(separator: "/").map { PercentEncoding.encode(String($0)) }
        return "/v1/jobs/\(job)/\(part)/" + names.joined(separator: "/")
    }

    private func attempt(of attempt: Attempt, _ result: TaskResult?) -> AttemptInfo {
        AttemptInfo {
            $0.number = Int(attempt.token.rawValue)
            $0.output = attempt.task.index
            $0.worker = attempt.worker
            $0.startedAt = Timestamp(attempt.started)
            $0.endedAt = attempt.ended.map(Timestamp.init)
            switch attempt.outcome {
            case .succeeded:
                $0.outcome = .succeeded
                $0.encoder = Self.encoder(result?.document(ofOutput: 0, of: 1))
            case .failed(let failure):
                $0.outcome = .failed
                $0.failure = Self.failure(failure)
            case .lost: $0.outcome = .lost
            case .released: $0.outcome = .released
            case .cancelled: $0.outcome = .cancelled
            case nil: break
            }
        }
    }

    static func encoder(_ document: JSONValue?) -> EncoderInfo? {
        guard let encoder = document?["encoder"], let name = encoder["name"]?.string else { return nil }
        return EncoderInfo {
            $0.name = name
            $0.codec = encoder["codec"]?.string ?? ""
            $0.profile = encoder["profile"]?.string ?? ""
            $0.device = encoder["device"]?.string
            $0.reason = encoder["reason"]?.string ?? ""
            $0.switches = document?["switches"]?.elements.count ?? 0
        }
    }

    private static func verification(_ document: JSONValue?) -> Verification? {
        guard let value = document?["verification"], let frames = value["frames"]?.integer else { return nil }
        return Verification {
            $0.frames = frames
            $0.comparedFrames = value["comparedFrames"]?.integer ?? 0
            $0.audioTracks = value["audioTracks"]?.integer ?? 0
            guard let psnr = value["psnr"], let lowest = psnr["lowest"]?.double else { return }
            $0.psnr = Verification.PSNR {
                $0.lowest = lowest
                $0.mean = psnr["mean"]?.double ?? lowest
                $0.frames = psnr["frames"]?.integer ?? 0
            }
        }
    }

    /// How the quality of an output was found, from its document.
    static func target(_ document: JSONValue?) -> TargetResult? {
        guard let value = document?["target"],
            let metric = value["metric"]?.string.flatMap(QualityMetric.init(rawValue:)),
            let predicted = figures(value["predicted"])
        else { return nil }
        return TargetResult {
            $0.metric = metric
            $0.wanted = value["wanted"]?.double ?? 0
            $0.reached = value["reached"] == .bool(true)
            $0.quality = value["quality"]?.double ?? 0
            $0.score = value["score"]?.double ?? 0
            $0.samples = value["samples"]?.elements.count ?? 0
            $0.tries = value["tries"]?.elements.count ?? 0
            $0.predicted = predicted
            $0.measured = figures(value["measured"])
        }
    }

    private static func figures(_ value: JSONValue?) -> TargetResult.Figures? {
        guard let value, let bytes = value["bytes"]?.integer else { return nil }
        return TargetResult.Figures {
            $0.size = bytes
            $0.duration = value["seconds"]?.double ?? 0
            $0.score = value["score"]?.double
            $0.frames = $0.score == nil ? nil : value["frames"]?.integer
        }
    }

    private func progress(_ record: JobRecord) -> Progress? {
        for task in record.tasks {
            guard case .running(let token) = task.state else { continue }
            if let progress = live.progress(of: token) { return progress }
            guard let text = record.attempts.first(where: { $0.token == token })?.progress,
                let value = try? JSONValue(parsing: text)
            else { continue }
            if let progress = try? Progress.decode(json: value, mode: .response) { return progress }
        }
        return nil
    }

    /// What a command has warned of: settings that were changed, tracks that were left out, damage that was accepted.
    private static func warnings(ofResult document: JSONValue) -> [String] {
        (document["outputs"].map(\.elements) ?? [document]).flatMap { Self.warnings($0) }
    }

    /// The warnings in the document of an output.
    static func warnings(_ document: JSONValue) -> [String] {
        (document["omissions"]?.elements ?? []).compactMap(\.string)
            + (document["problems"]?["descriptions"]?.elements ?? []).compactMap(\.string)
            + (document["adjustments"]?.elements ?? []).compactMap { $0["reason"]?.string }
    }
}

extension TaskResult {
    /// The document of a result, without its files; `nil` if the text is none.
    static func document(text: String?) -> JSONValue? {
        text.flatMap { try? JSONValue(parsing: $0) }?["document"]
    }

    /// The document of an output: commands with several outputs print one for each.
    func document(ofOutput place: Int, of count: Int) -> JSONValue? {
        guard case .array(let documents)? = document["outputs"] else { return document }
        return documents.indices.contains(place) ? documents[place] : documents.first
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore
internal import ServiceAPI

/// What a job's request means: its tasks, and the commands that do them. Pure values.
enum JobPlanner {
    /// The outputs that one task makes, by their indexes in the request: all files together, since their input is decoded
    /// once, and each playlist and each file that is encoded in parts alone.
    static func groups(of request: JobRequest) -> [[Int]] {
        func isAlone(_ index: Int) -> Bool {
            request.outputs[index].kind != .file || request.outputs[index].parts != nil
        }
        let files = request.outputs.indices.filter { !isAlone($0) }
        let others = request.outputs.indices.filter(isAlone).map { [$0] }
        return (files.isEmpty ? [] : [files]) + others
    }

    /// The tasks of a job.
    ///
    /// - Parameter upload: The ID of the upload that it reads; the request may name it otherwise.
    static func tasks(of request: JobRequest, upload: String?) -> [TaskDraft] {
        var encodes: [TaskDraft] = []
        for group in groups(of: request) {
            let retries = RetryPolicy(mostFailures: request.attempts)
            let (first, count) = (encodes.count, request.outputs[group[0]].parts ?? 0)
            var demand = resource(of: request, group).demand
            if count > 0 { demand.abilities.insert(chunkAbility) }
            for number in 0..<count {
                encodes.append(
                    TaskDraft(
                        kind: partKind,
                        payload: payload(outputs: group, upload: upload, Part(number: number + 1, count: count)),
                        demand: demand,
                        cost: 1 / Double(count),
                        retries: retries
                    )
                )
            }
            encodes.append(
                TaskDraft(
                    kind: encodingKind,
                    payload: payload(outputs: group, upload: upload),
                    dependencies: Array(first..<encodes.count),
                    demand: demand,
                    cost: count == 0 ? Double(group.count) : 0.1,
                    retries: retries
                )
            )
        }
        guard request.destination != nil else { return encodes }
        let delivery = TaskDraft(
            kind: deliveryKind,
            dependencies: Array(encodes.indices),
            cost: 0.1,
            retries: RetryPolicy(mostFailures: 10, mostLosses: 10, pause: 5)
        )
        return encodes + [delivery]
    }

    /// What a task works with. Pictures are made of what the CPU decodes.
    private static func resource(of request: JobRequest, _ outputs: [Int]) -> Admission.Resource {
        let isForCPU = request.device == "software" || outputs.contains { request.outputs[$0].kind.isPictures }
        return isForCPU ? .processors : .devices
    }

    /// What a task of a job works with; `nil` for one that copies results. Of a version that stored no demand, it is what
    /// most do.
    static func resource(of task: TaskDraft) -> Admission.Resource? {
        Admission.Resource(task.demand) ?? (task.kind == deliveryKind ? nil : .devices)
    }

    /// What a worker offers that knows chunks: one of an earlier version would encode the whole for each part.
    static let chunkAbility = "chunks"
    /// The kind of the tasks that encode a part of an output, before the one that makes it.
    static let partKind = "part"
    /// The kind of the tasks that make outputs.
    static let encodingKind = "encode"
    /// The kind of the task that copies the results of the others to the destination.
    static let deliveryKind = "deliver"

    /// One of the parts in which an output is encoded.
    struct Part: Sendable, Hashable {
        /// From 1 on.
        var number: Int
        var count: Int
    }

    /// Where the chunks of an output are, and which of them a task finishes; without a part, it joins all.
    struct Chunks: Sendable, Hashable {
        var folder: String
        var part: Part?
    }

    private static func payload(outputs: [Int], upload: String?, _ part: Part? = nil) -> String {
        var payload: JSONObject = ["outputs": .array(outputs.map { .integer(Int64($0)) })]
        payload["part"] = part.map { .array([.integer(Int64($0.number)), .integer(Int64($0.count))]) }
        payload["upload"] = upload.map(JSONValue.string)
        return JSONValue.object(payload).text
    }

    /// The ID of the upload that a task reads, from its payload.
    static func upload(ofPayload payload: String) -> String? {
        (try? JSONValue(parsing: payload))?["upload"]?.string
    }

    /// The part that a task encodes, from its payload; `nil` if it makes the output.
    static func part(ofPayload payload: String) -> Part? {
        let numbers = (try? JSONValue(parsing: payload))?["part"]?.elements.compactMap(\.integer)
        guard let numbers, numbers.count == 2 else { return nil }
        return Part(number: numbers[0], count: numbers[1])
    }

    /// The outputs of a task, from its payload.
    static func outputs(ofPayload payload: String) -> [Int] {
        guard let value = try? JSONValue(parsing: payload), case .array(let items)? = value["outputs"] else {
            return []
        }
        return items.compactMap { if case .integer(let number) = $0 { Int(number) } else { nil } }
    }

    /// The arguments of the command for a task.
    ///
    /// - Parameters:
    ///   - outputs: The indexes of its outputs.
    ///   - input: The path of the input, which begins with `/`.
    ///   - folder: The folder of the outputs.
    ///   - chunks: The chunks of an output that is encoded in parts.
    ///   - devices: Where its outputs may be encoded.
    static func arguments(
        of request: JobRequest,
        outputs: [Int],
        input: String,
        folder: String,
        chunks: Chunks? = nil,
        devices: Devices = .asRequested
    ) -> [String] {
        if let index = outputs.first, request.outputs[index].kind.isPictures {
            return pictureArguments(of: request, request.outputs[index], input: input, folder: folder)
        }
        var arguments = ["encode", input, "--json", "--quiet"]
        let source = request.input
        arguments.add("--start", source.start)
        arguments.add("--duration", source.duration)
        arguments.add("--input-format", source.format)
        arguments.add("--input-fps", source.frameRate)
        if source.deinterlace != .auto { arguments.add("--deinterlace", source.deinterlace.rawValue) }
        let nodes = devices.choice(request)
        for node in nodes { arguments.add("--device", node) }
        if nodes != ["software"] { arguments.append("--spread") }
        if request.requireHardware { arguments.append("--require-hardware") }
        for index in outputs { arguments += outputArguments(request.outputs[index], folder: folder) }
        arguments.add("--checkpoints", chunks?.folder)
        arguments.add("--only-chunks", chunks?.part.map { "\($0.number)/\($0.count)" })
        // If the result cannot be published, the next attempt finds them.
        if chunks != nil { arguments.append("--keep-chunks") }
        return arguments
    }

    /// The arguments of the command that predicts outputs with a quality target, and writes none.
    static func predictionArguments(of request: JobRequest, outputs: [Int], input: String, folder: String) -> [String] {
        var arguments = arguments(of: request, outputs: outputs, input: input, folder: folder)
        // In front of the first output, it is about all of them.
        arguments.insert("--target-only", at: arguments.firstIndex(of: "-o") ?? arguments.endIndex)
        return arguments
    }

    /// The command that makes pictures: `thumbnails`.
    private static func pictureArguments(
        of request: JobRequest,
        _ output: Output,
        input: String,
        folder: String
    ) -> [String] {
        var arguments = ["thumbnails", input, "--json", "--quiet"]
        arguments.add("--start", request.input.start)
        arguments.add("--duration", request.input.duration)
        arguments.add("--input-format", request.input.format)
        arguments.add("--every", output.interval)
        if output.interval == nil { arguments.add("--count", defaultPictureCount) }
        arguments.add("--width", output.width)
        return arguments + ["-o", "\(folder)/\(output.name)"]
    }

    /// How many pictures there are if their interval is not stated.
    private static let defaultPictureCount = 100

    private static func outputArguments(_ output: Output, folder: String) -> [String] {
        var arguments = ["-o", "\(folder)/\(output.name)"]
        if let limit = output.verifyPSNR {
            arguments.add("--verify-psnr", limit)
        } else {
            arguments.append("--verify")
        }
        return arguments + mediaArguments(output)
    }

    /// How video and sound of an output are encoded.
    static func mediaArguments(_ output: Output) -> [String] {
        var arguments: [String] = []
        let video = output.video
        if video.codec != .auto { arguments.add("--codec", video.codec.rawValue) }
        if output.ladder.isEmpty {
            arguments.add("--bitrate", video.bitRate)
            if video.width != nil || video.height != nil {
                let (width, height) = (video.width.map(String.init), video.height.map(String.init))
                arguments.add("--size", "\(width ?? "")x\(height ?? "")")
            }
        } else {
            let rungs = output.ladder.map { rung in "\(rung.height)p" + (rung.bitRate.map { ":\($0)" } ?? "") }
            arguments.add("--ladder", rungs.joined(separator: ","))
        }
        arguments.add("--peak-bitrate", video.peakBitRate)
        arguments.add("--crf", video.quality)
        if let target = video.target {
            arguments.add("--target", "\(target.metric.rawValue):\(target.score)")
            if target.shortfall != .fail { arguments.add("--target-shortfall", target.shortfall.rawValue) }
        }
        if video.scaling != .fit { arguments.add("--fit", video.scaling == .fill ? "aspect-fill" : "stretch") }
        arguments.add("--fps", video.frameRate)
        arguments.add("--preset", video.preset?.rawValue)
        arguments.add("--tune", video.tune?.rawValue)
        arguments.add("--profile", video.profile?.rawValue)
        if let seconds = video.keyFrameInterval { arguments.add("--keyframe-interval", "\(seconds)s") }
        arguments.add("--b-frames", video.bFrames)
        arguments.add("--bit-depth", video.bitDepth?.word)
        arguments.add("--chroma", video.chroma?.rawValue)
        let audio = output.audio
        if audio.codec != .auto { arguments.add("--audio", audio.codec.rawValue) }
        arguments.add("--audio-bitrate", audio.bitRate)
        arguments.add("--audio-channels", audio.channels.map { layouts[$0 - 1] })
        arguments.add("--audio-rate", audio.sampleRate)
        arguments.add("--audio-loudness", audio.loudness)
        if output.fragmented { arguments.append("--fragmented") }
        if output.preview { arguments.append("--fragmented-until-end") }
        arguments.add("--segment-duration", output.segmentDuration)
        if output.kind == .hls, output.segmentFormat != .fmp4 {
            arguments.add("--segment-format", output.segmentFormat.rawValue)
        }
        if output.dash { arguments.append("--dash") }
        return arguments
    }

    /// The layouts of 1 to 8 channels.
    private static let layouts = ["mono", "stereo", "3.0", "4.0", "5.0", "5.1", "6.1", "7.1"]

    /// How an attempt ends whose command has ended.
    ///
    /// - Returns: `nil` if its outputs may be published.
    static func failure(of request: JobRequest, _ ended: CommandResult) -> Failure? {
        let document = ended.json
        switch ended.exit {
        case .status(0): return nil
        case .status(3) where request.damagedInput == .accept: return nil
        case .status(3):
            return Failure(
                code: "damaged-input",
                message: "a part of the input could not be read or decoded: \(problems(document))",
                isRetriable: false,
                details: JSONValue.object([
                    "remedies": ["send the input again, or set damagedInput to \"accept\""],
                    "problems": document?["problems"] ?? .null,
                ]).text
            )
        case .status(let status):
            let error = document?["error"]
            let isLackOfSpace = error?["callStatus"]?.integer.map { fullDisk.contains($0) } ?? false
            let code =
                isLackOfSpace ? "insufficient-storage" : error?["code"]?.string ?? FailureCode.commandFailed.rawValue
            return Failure(
                code: code,
                message: error?["message"]?.string
                    ?? "the command ended with status \(status): \(ended.lastLines.last ?? "it said nothing")",
                isRetriable: !permanent.contains(code),
                details: error?.text
            )
        case .signal(let name):
            return Failure(
                code: "worker-killed",
                message: "the process of the task was ended by \(name)",
                isRetriable: true
            )
        case .stalled(let seconds):
            return Failure(
                code: "stalled",
                message: "the task made no progress for \(seconds) seconds",
                isRetriable: true
            )
        case .tooMuchMemory(let bytes):
            return Failure(
                code: "out-of-memory",
                message: "the task took more than \(bytes) bytes of memory",
                isRetriable: true
            )
        case .tooManyProcesses:
            return Failure(code: "worker-killed", message: "the task started too many processes", isRetriable: false)
        case .tooLate:
            return Failure(
                code: "time-limit",
                message: "the task took more than \(request.timeLimit ?? 0) seconds",
                isRetriable: false
            )
        }
    }

    /// What a command that says that it has succeeded does not show: each output must be there, and verified.
    ///
    /// - Parameters:
    ///   - files: The paths of the files that it has written.
    ///   - document: What it has printed.
    static func shortcoming(
        of request: JobRequest,
        outputs: [Int],
        files: [String],
        _ document: JSONValue?
    ) -> Failure? {
        func failure(_ message: String) -> Failure {
            Failure(code: "verification-failed", message: message, isRetriable: true)
        }
        guard let document else { return failure("the command has printed no result") }
        for index in outputs where request.outputs[index].kind != .thumbnails {
            guard files.contains(request.outputs[index].name) else {
                return failure("the output \(request.outputs[index].name) is not there")
            }
        }
        if let file = files.first(where: { file in !outputs.contains { request.outputs[$0].owns(file) } }) {
            return failure("the command has left a file that belongs to no output: \(file)")
        }
        if let index = outputs.first, request.outputs[index].kind.isPictures {
            return files.contains { $0.hasSuffix(".png") || $0.hasSuffix(".jpg") }
                ? nil : failure("there is no picture")
        }
        let documents = document["outputs"].map(\.elements) ?? [document]
        let count = outputs.reduce(0) { $0 + max(request.outputs[$1].ladder.count, 1) }
        guard documents.count == count, documents.allSatisfy({ ($0["verification"]?["frames"]?.integer ?? 0) > 0 })
        else {
            return failure("the command has not verified all outputs")
        }
        return nil
    }

    /// ENOSPC and EDQUOT.
    private static let fullDisk = [28, 122]

    /// Errors that another attempt meets again.
    private static let permanent: Set<String> = [
        "usage", "invalid-argument", "unsupported", "malformed-data", "damaged-input", "target-unreachable",
    ]

    private static func problems(_ document: JSONValue?) -> String {
        guard case .array(let items)? = document?["problems"]?["descriptions"], !items.isEmpty else {
            return "see the problems of the result"
        }
        return items.compactMap(\.string).joined(separator: "; ")
    }

    /// Where the outputs of an attempt may be encoded.
    enum Devices: Sendable, Hashable {
        case asRequested
        /// On these GPUs, unless others are requested: the rest is busy.
        case preferring([String])
        /// On these GPUs, or on the CPU.
        case remaining([String])

        /// What an attempt may use.
        ///
        /// - Parameters:
        ///   - failure: That of the attempt before.
        ///   - usable: The GPUs that can be used now.
        ///   - free: The render nodes of those that have time.
        init(after failure: Failure?, usable: [Device], free: [String]) {
            let nodes = usable.map(\.node)
            guard let failure, JobPlanner.isLoss(failure) else {
                // Only if nothing is lost with the others.
                let encodes = Set(usable.flatMap(\.encodes)), decodes = Set(usable.flatMap(\.decodes))
                let canDoAll = usable.filter { free.contains($0.node) }.allSatisfy {
                    encodes.isSubset(of: $0.encodes) && decodes.isSubset(of: $0.decodes)
                }
                self = free == nodes || !canDoAll ? .asRequested : .preferring(free)
                return
            }
            let lost = JobPlanner.lostDevices(failure)
            // Nobody knows on which it was lost: any may be the reason.
            self = .remaining(lost.isEmpty ? [] : nodes.filter { !lost.contains($0) })
        }

        /// The values of `--device`.
        fileprivate func choice(_ request: JobRequest) -> [String] {
            let nodes: [String]
            switch self {
            case .asRequested: return [request.device]
            case .preferring(let nodes): return request.device == "auto" ? nodes : [request.device]
            case .remaining(let remaining): nodes = remaining
            }
            if request.device == "auto", request.afterLoss == .nextDevice, !nodes.isEmpty { return nodes }
            return [request.requireHardware ? request.device : "software"]
        }
    }

    /// A failure of an attempt that may be lost because of a GPU's driver, with the GPUs on which it and those right before it
    /// were lost.
    static func noting(_ device: String?, in failure: Failure, after last: Failure?) -> Failure {
        guard isLoss(failure) else { return failure }
        var failure = failure
        let earlier = last.map { isLoss($0) ? lostDevices($0) : [] } ?? []
        let lost = earlier + [device].compactMap(\.self).filter { !earlier.contains($0) }
        if !lost.isEmpty {
            failure.details = JSONValue.object([lostDevicesKey: .array(lost.map(JSONValue.string))]).text
        }
        return failure
    }

    private static let lostDevicesKey = "lostDevices"

    private static func isLoss(_ failure: Failure) -> Bool { ["worker-killed", "stalled"].contains(failure.code) }

    private static func lostDevices(_ failure: Failure) -> [String] {
        let details = failure.details.flatMap { try? JSONValue(parsing: $0) }
        return details?[lostDevicesKey]?.elements.compactMap(\.string) ?? []
    }
}

/// How the process of a command has ended.
enum CommandExit: Sendable, Hashable {
    case status(Int32)
    case signal(String)
    case stalled(Double)
    case tooMuchMemory(Int)
    case tooLate
    case tooManyProcesses
}

extension [String] {
    /// Adds an option with its value, if there is one.
    fileprivate mutating func add(_ option: String, _ value: (some CustomStringConvertible)?) {
        // One argument: a value may begin with a hyphen.
        if let value { append("\(option)=\(value)") }
    }
}

extension OutputKind {
    /// Whether it consists of pictures.
    var isPictures: Bool { self == .thumbnails || self == .sprite }
}

extension Output {
    /// Whether what is written so far can be played: an index at the end, or in front, would be missing.
    var canBePlayedWhileItGrows: Bool {
        kind == .file && (fragmented || preview || !["mp4", "m4v", "mov"].contains(fileExtension))
    }

    /// Whether a file of a task's results is part of this output.
    func owns(_ path: String) -> Bool {
        switch kind {
        case .file: path == name
        // A playlist has a folder of its name, and may have an `.mpd` beside it.
        case .hls: path == name || path == "\(stem).mpd" || path.hasPrefix("\(stem)/")
        case .sprite: path == name || path.hasPrefix("\(stem)-") && !path.contains("/")
        // One task makes all of them, and nothing else.
        case .thumbnails: !path.contains("/") && path.hasSuffix(".\(fileExtension)")
        }
    }
}

extension BitDepthChoice {
    /// As the command reads it.
    fileprivate var word: String { json.string ?? json.text }
}

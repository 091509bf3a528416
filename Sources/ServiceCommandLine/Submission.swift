// SPDX-License-Identifier: GPL-2.0-or-later

package import ServiceAPI

/// A command line that is not allowed: what was given, and what is allowed.
package struct UsageError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A job to submit, as the command line describes it.
package struct Submission: Sendable, Hashable {
    /// Where the input comes from.
    package enum Source: Sendable, Hashable {
        /// A file on this machine, which must be uploaded.
        case file(String)
        /// What the service can read itself.
        case remote(InputSource)

        /// The source that an argument names: a URL, or otherwise a file on this machine.
        init(argument: String, store: String?) {
            if let object = StoreAddress(argument), let key = object.key {
                self = .remote(
                    .object(
                        S3Object {
                            $0.bucket = object.bucket
                            $0.key = key
                            $0.store = store
                        }
                    )
                )
                return
            }
            let isURL = ["http://", "https://"].contains { argument.lowercased().hasPrefix($0) }
            self = isURL ? .remote(.url(argument)) : .file(argument)
        }

        /// The path or the URL.
        package var text: String {
            switch self {
            case .file(let path): path
            case .remote(let source): source.publicText
            }
        }
    }

    package let source: Source
    private let template: JobRequest

    /// The request.
    ///
    /// - Parameter upload: The ID of the upload, if the input is a file on this machine.
    package func request(upload: String? = nil) -> JobRequest {
        var request = template
        if let upload { request.input.upload = upload }
        return request
    }

    init(_ source: Source, _ template: JobRequest) {
        self.source = source
        self.template = template
    }
}

extension SubmitCommand {
    /// The part of an output's name that becomes the name of the input without its extension.
    static let nameMark = "{name}"
    /// The part of an output's name that becomes the height of a rung.
    static let heightMark = "{height}"

    /// The jobs to submit. Everything that the service would refuse in them is refused here, before files are sent.
    package func submissions() throws(UsageError) -> [Submission] {
        let sources =
            files.map { Submission.Source(argument: $0, store: job.store) }
            + source.inputPath.map { .remote(.path($0)) }
            + source.inputUrl.map { .remote(.url($0)) }
        guard !sources.isEmpty else {
            throw UsageError("there is no input (allowed: files, URLs, --input-path, --input-url)")
        }
        guard !output.isEmpty || outputs.storedPreset != nil else {
            throw UsageError("there is no output (allowed: -o NAME, or --use-preset)")
        }
        if sources.count > 1, results.download != nil,
            let first = output.first(where: { !$0.contains(Self.nameMark) })
        {
            throw UsageError(
                "the results of several inputs would have the same name (given -o \(first); allowed: a name with "
                    + "\(Self.nameMark), such as \(Self.nameMark).mp4)"
            )
        }
        var submissions: [Submission] = []
        for source in sources { submissions.append(Submission(source, try request(source))) }
        return submissions
    }

    private func request(_ source: Submission.Source) throws(UsageError) -> JobRequest {
        var request = JobRequest()
        switch source {
        case .file: request.input.upload = "file"
        case .remote(let input): request.input = Input(input)
        }
        request.input.start = self.source.start?.seconds
        request.input.duration = self.source.duration?.seconds
        if let deinterlace = self.source.deinterlace { request.input.deinterlace = deinterlace }
        if self.source.acceptDamage { request.damagedInput = .accept }
        var outputs: [Output] = []
        for name in output { outputs += try self.outputs(name.replacing(Self.nameMark, with: Self.stem(of: source))) }
        request.outputs = configured(outputs)
        request.preset = self.outputs.storedPreset
        job.apply(to: &request)
        request.destination = job.place
        do {
            return try JobRequest.decode(json: request.json, mode: .request)
        } catch {
            throw UsageError(Self.explanation(of: error))
        }
    }

    /// The name of an input without folders and extension.
    static func stem(of source: Submission.Source) -> String {
        let name = source.text.split(separator: "/").last ?? "input"
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return String(name) }
        return String(name[..<dot])
    }

    /// The outputs that a name stands for: one, or one per rung.
    private func outputs(_ name: String) throws(UsageError) -> [Output] {
        guard !name.contains("/") else {
            throw UsageError(
                "the name of a result has a slash (given -o \(name); allowed: a name; --download takes a folder)"
            )
        }
        let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        guard let kind = OutputKind.allCases.first(where: { $0.extensions.contains(ending) }) else {
            let allowed = OutputKind.allCases.flatMap(\.extensions).map { ".\($0)" }.joined(separator: ", ")
            throw UsageError("the name of a result says nothing of its kind (given -o \(name); allowed: \(allowed))")
        }
        var output = Output()
        output.kind = kind
        output.name = name
        guard name.contains(Self.heightMark) else { return [output] }
        guard let rungs = outputs.ladder?.rungs, kind == .file else {
            throw UsageError("\(Self.heightMark) needs --ladder, and a video file (given -o \(name))")
        }
        var files: [Output] = []
        for rung in rungs {
            guard rung.bitRate != nil || video.crf != nil || video.target != nil else {
                throw UsageError(
                    "a file of --ladder has no bitrate (given \(rung.height)p; allowed: HEIGHTp:BITRATE, --crf, --target)"
                )
            }
            var file = output
            file.name = name.replacing(Self.heightMark, with: "\(rung.height)")
            file.video.height = rung.height
            file.video.bitRate = rung.bitRate
            files.append(file)
        }
        return files
    }

    /// The outputs with the settings that their kinds have. A setting that no output has stays at all of them, so that
    /// it is refused.
    private func configured(_ outputs: [Output]) -> [Output] {
        func apply(_ kinds: [OutputKind], _ change: (inout Output) -> Void, to outputs: inout [Output]) {
            let suits = outputs.contains { kinds.contains($0.kind) }
            for index in outputs.indices where !suits || kinds.contains(outputs[index].kind) { change(&outputs[index]) }
        }
        var outputs = outputs
        apply([.file, .hls], { video.apply(to: &$0.video) }, to: &outputs)
        apply([.file, .hls], { audio.apply(to: &$0.audio) }, to: &outputs)
        apply([.file, .hls], { $0.verifyPSNR = self.outputs.verifyPsnr }, to: &outputs)
        apply([.file], { $0.parts = self.outputs.parts }, to: &outputs)
        apply([.file], { $0.fragmented = self.outputs.fragmented }, to: &outputs)
        // The rungs of files are files.
        let hasFileLadder = output.contains { $0.contains(Self.heightMark) }
        if let rungs = self.outputs.ladder?.rungs, !hasFileLadder || outputs.contains(where: { $0.kind == .hls }) {
            apply([.hls], { $0.ladder = rungs }, to: &outputs)
        }
        apply([.hls], { $0.segmentDuration = self.outputs.segmentDuration }, to: &outputs)
        apply([.hls], { $0.segmentFormat = self.outputs.segmentFormat ?? .fmp4 }, to: &outputs)
        apply([.hls], { $0.dash = self.outputs.dash }, to: &outputs)
        apply([.thumbnails, .sprite], { $0.interval = self.outputs.interval }, to: &outputs)
        apply([.thumbnails, .sprite], { $0.width = self.outputs.pictureWidth }, to: &outputs)
        return outputs
    }

    /// The error in terms of options.
    static func explanation(of error: APIError) -> String {
        let option = error.field.flatMap(option(ofField:)) ?? error.field
        let facts = [error.value.map { "given \($0.text)" }, error.allowed.map { "allowed: \($0)" }].compactMap(\.self)
        let detail = error.detail.hasSuffix(".") ? String(error.detail.dropLast()) : error.detail
        let text = option.map { "\($0): \(detail)" } ?? detail
        return facts.isEmpty ? text : "\(text) (\(facts.joined(separator: "; ")))"
    }

    /// The option for the place in a request: `--crf` for `/outputs/0/video/quality`.
    static func option(ofField pointer: String) -> String? {
        let keys = pointer.split(separator: "/").map(String.init).filter { !$0.allSatisfy(\.isNumber) }
        for length in stride(from: min(keys.count, 3), through: 1, by: -1) {
            for start in stride(from: keys.count - length, through: 0, by: -1) {
                if let option = options[keys[start..<start + length].joined(separator: "/")] { return option }
            }
        }
        return nil
    }

    private static let options: [String: String] = [
        "outputs": "-o", "outputs/name": "-o", "outputs/ladder": "--ladder",
        "outputs/segmentDuration": "--segment-duration",
        "outputs/segmentFormat": "--segment-format", "outputs/dash": "--dash", "outputs/fragmented": "--fragmented",
        "outputs/interval": "--interval", "outputs/width": "--picture-width", "outputs/verifyPSNR": "--verify-psnr",
        "outputs/parts": "--parts",
        "video/codec": "--codec", "video/bitRate": "--bitrate", "video/peakBitRate": "--peak-bitrate",
        "video/quality": "--crf", "video/target": "--target", "target/score": "--target",
        "video/width": "--size", "video/height": "--size", "video/scaling": "--fit",
        "video/frameRate": "--fps", "video/preset": "--preset", "video/profile": "--profile",
        "video/keyFrameInterval": "--keyframe-interval", "video/bFrames": "--b-frames",
        "video/bitDepth": "--bit-depth", "video/chroma": "--chroma", "video/tune": "--tune",
        "audio/codec": "--audio", "audio/bitRate": "--audio-bitrate", "audio/sampleRate": "--audio-rate",
        "audio/channels": "--audio-channels", "audio/loudness": "--audio-loudness",
        "destination": "--destination", "destination/path": "--destination", "destination/s3/bucket": "--destination",
        "destination/s3/prefix": "--destination", "s3/store": "--store",
        "input/path": "--input-path", "input/url": "--input-url", "input/start": "--start",
        "input/duration": "--duration", "queue": "--queue", "priority": "--priority", "share": "--share",
        "labels": "--label", "device": "--device", "requireHardware": "--require-hardware",
        "timeLimit": "--time-limit", "retention": "--retention", "attempts": "--attempts", "preset": "--use-preset",
    ]
}

extension SubmitJobOptions {
    /// Where results are copied to.
    var place: Destination? {
        guard let destination else { return nil }
        return Destination {
            $0.overwrite = destinationOverwrite
            guard let address = StoreAddress(destination) else {
                $0.path = destination
                return
            }
            $0.s3 = S3Folder {
                $0.bucket = address.bucket
                $0.prefix = address.key
                $0.store = store
            }
        }
    }
}

/// A text such as `s3://bucket/key`.
struct StoreAddress {
    var bucket: String
    /// Without slashes at its ends.
    var key: String?

    init?(_ text: String) {
        let scheme = "s3://"
        guard text.lowercased().hasPrefix(scheme) else { return nil }
        let parts = text.dropFirst(scheme.count).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        bucket = parts.first.map(String.init) ?? ""
        guard parts.count == 2 else { return }
        let rest = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        if !rest.isEmpty { key = String(rest) }
    }
}

extension SubmitVideoOptions {
    func apply(to settings: inout VideoSettings) {
        if let codec { settings.codec = codec }
        settings.quality = crf
        if var target = target?.target {
            if let targetShortfall { target.shortfall = targetShortfall }
            settings.target = target
        }
        if let bitrate { settings.bitRate = bitrate.bitsPerSecond }
        settings.peakBitRate = peakBitrate?.bitsPerSecond
        if let size { (settings.width, settings.height) = (size.width, size.height) }
        if let fit { settings.scaling = fit.scaling }
        settings.frameRate = fps
        settings.preset = preset
        settings.tune = tune
        settings.profile = profile
        settings.keyFrameInterval = keyFrameInterval?.seconds
        settings.bFrames = bFrames
        settings.bitDepth = bitDepth
        settings.chroma = chroma
    }
}

extension SubmitAudioOptions {
    func apply(to settings: inout AudioSettings) {
        if let audio { settings.codec = audio }
        settings.bitRate = audioBitrate?.bitsPerSecond
        settings.sampleRate = audioRate
        settings.channels = audioChannels
        settings.loudness = audioLoudness
    }
}

extension SubmitJobOptions {
    func apply(to request: inout JobRequest) {
        if let queue { request.queue = queue }
        if let priority { request.priority = priority }
        if let share { request.share = share }
        request.labels = LabelArgument.dictionary(label)
        if let device { request.device = device }
        request.requireHardware = requireHardware
        request.timeLimit = timeLimit
        if let retention { request.retention = retention }
        if let attempts { request.attempts = attempts }
    }
}

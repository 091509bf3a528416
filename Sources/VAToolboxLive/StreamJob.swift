// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import AssetWriting
import Capture
import CommandLineSupport
import HostSystem
import LiveSessions
import MediaTypes
import Streaming
import Synchronization

/// One run of `vatoolbox stream`, from the command line to the exit status.
final class StreamJob: LiveJob {
    let base: FileJob
    let signals: [Int32] = []
    private let command: StreamCommand
    private let session = Mutex<StreamingSession?>(nil)

    private let control: StreamControl?

    /// A job with the further arguments of standard input, if the command reads them there.
    ///
    /// - Throws: Errors of ArgumentParser.
    static func controlled(_ command: StreamCommand) throws -> StreamJob {
        guard command.control else { return StreamJob(command) }
        let control = StreamControl()
        let arguments = Array(CommandLine.arguments.dropFirst(2)) + control.arguments()
        return StreamJob(try StreamCommand.parse(arguments), control)
    }

    init(_ command: StreamCommand, _ control: StreamControl? = nil) {
        (self.command, self.control) = (command, control)
        base = FileJob([command.report], usesStandardOutput: false, ending: "ending the stream")
    }

    func handle(signal: Int32) {}

    func run() async -> ExitStatus {
        do throws(MediaError) {
            let session = try makeSession()
            self.session.withLock { $0 = session }
            base.begin { session.stop() }
            try followCommands()
            let teller = StreamTeller(console: base.console)
            let levels = SoundLevels { session.takeLevels() }
            let summary = try await attending {
                self.handle($0)
            } tell: {
                teller.tell(session.status)
            } progress: {
                StreamProgress(status: session.status, levels: levels)
            } during: { () async throws(MediaError) in
                try await session.run()
            }
            return base.report(
                StreamOutcome(summary: summary, session: session.status, wasInterrupted: base.wasInterrupted)
            )
        } catch {
            if let text = session.withLock({ $0?.status.recording?.summary }) { base.console.note("recorded \(text)") }
            return base.fail(error)
        }
    }

    private func makeSession() throws(MediaError) -> StreamingSession {
        try command.report.validateFlags()
        var settings = try command.encoder.settings()
        settings.duration = try command.output.duration?.value(of: "--duration").time
        let addresses = try command.output.addresses()
        var pictures: [LiveInput] = []
        for text in command.inputs.video { pictures.append(try Self.input(text, addresses)) }
        if let coded = pictures.first(where: \.isCoded) {
            throw MediaError(
                .invalidArgument,
                "H.264 of a camera is recorded, not streamed: receivers need key frames and bitrates of their own",
                given: coded.name,
                allowed: "another format, such as format=mjpeg"
            )
        }
        let sound = try command.inputs.sound()
        if !command.files.isEmpty {
            pictures.insert(.files(command.files, isLooped: command.output.loop, addresses: addresses), at: 0)
        } else if command.output.loop {
            throw MediaError(.invalidArgument, "only files are played again", given: "--loop without a file")
        }
        guard !pictures.isEmpty || sound != nil else {
            throw MediaError(
                .invalidArgument,
                "there is nothing to stream",
                allowed: "files, --video, --audio, or several of them"
            )
        }
        settings.preview = try command.inputs.previewer(of: pictures, console: base.console)
        if pictures.contains(where: { !$0.isPatient }) || pictures.isEmpty { settings.absence = .slate(nil) }
        settings.renditions = try command.output.renditions()
        if let ladder = command.output.ladder, let other = command.encoder.optionOfOneRendition {
            throw contradiction("--ladder \(ladder.text)", other)
        }
        return try StreamingSession(
            pictures: pictures,
            sound: sound,
            to: try command.output.receivers(
                settings.renditions,
                keyFrameInterval: settings.video.keyFrameInterval.duration
            ),
            settings: settings,
            options: try command.output.options(files: command.files + Self.files(among: command.inputs.video))
        )
    }

    /// The paths of the files among the inputs of `--video`.
    private static func files(among texts: [String]) throws(MediaError) -> [String] {
        let addresses = try texts.map { (text) throws(MediaError) in try DeviceAddress(text) }
        return addresses.filter { $0.kind == "file" }.map(\.name)
    }

    /// An input of `--video`: besides devices, `file:PATH[,loop=on]` and `url:URL`.
    private static func input(_ text: String, _ addresses: AddressPolicy?) throws(MediaError) -> LiveInput {
        let address = try DeviceAddress(text)
        switch address.kind {
        case "file":
            let options = try address.options(["loop"])
            let isLooped = try options["loop"].map { (text) throws(MediaError) in
                try OptionValue.flag(text, option: "loop")
            }
            return .files([address.name], isLooped: isLooped ?? false, addresses: addresses)
        case "url":
            _ = try address.options([])
            return .files([address.name], waitsAtStart: true, addresses: addresses)
        default: return try .pictures(address, name: text)
        }
    }

    /// Obeys the commands of standard input, if they come from there.
    private func followCommands() throws(MediaError) {
        guard let control else { return }
        try PlainThread.start(name: "vt-control") { [self] in
            while let line = control.line() {
                do throws(MediaError) {
                    try obey(StreamControl.Command(line))
                } catch {
                    base.console.warning(error.readable)
                }
            }
            base.interrupt(before: 0)
        }
    }

    private func obey(_ command: StreamControl.Command) throws(MediaError) {
        switch command {
        case .stop: base.interrupt(before: 0)
        case .use(let number): session.withLock { $0 }?.use(input: number - 1)
        case .bitrate(let rate): try session.withLock { $0 }?.setCeiling(rate)
        }
    }

    private func handle(_ key: Character) {
        if key == "q" || key == "Q" { return base.interrupt(before: 0) }
        guard let number = key.wholeNumberValue, number > 0 else { return }
        session.withLock { $0 }?.use(input: number - 1)
    }
}

/// Tells on the console when outputs change their state.
final class StreamTeller: Sendable {
    private let console: Console
    private let inputs: LiveTeller
    private let told = Mutex<[Int: Told]>([:])
    private let hasToldRecording = Mutex(false)

    /// What was told of an output.
    private struct Told {
        /// The reason why it is lost, while it is.
        var loss: String?
        var isLive = false
        var hasFailed = false
    }

    init(console: Console) {
        self.console = console
        inputs = LiveTeller(console: console)
    }

    /// Tells what is new in a status: a loss once, until the output has been live for some seconds.
    func tell(_ status: StreamingSession.Status) {
        inputs.tell(status.session)
        tell(status.recording)
        for (index, output) in status.outputs.enumerated() {
            let message = told.withLock { Self.news(output, &$0[index, default: Told()]) }
            switch message {
            case .note(let text): console.note("\(output.title) \(text)")
            case .warning(let text): console.warning("\(output.title) \(text)")
            case nil: continue
            }
        }
    }

    /// Tells that the recording has failed, while the stream goes on.
    private func tell(_ recording: RecordingStatus?) {
        guard let text = recording?.failureText else { return }
        let wasTold = hasToldRecording.withLock { hasTold in
            defer { hasTold = true }
            return hasTold
        }
        if !wasTold { console.warning(text) }
    }

    private enum Message {
        case note(String)
        case warning(String)
    }

    /// The time of a connection after which it counts as kept, in seconds.
    private static let kept = 2.0

    private static func news(_ output: OutputStatus, _ told: inout Told) -> Message? {
        switch output.state {
        case .live:
            let isKept = told.loss == nil || (output.connectedFor ?? 0) >= kept
            guard !told.isLive, isKept else { return nil }
            defer { (told.isLive, told.loss) = (true, nil) }
            return .note(told.loss == nil ? "is live" : "is live again")
        case .waiting(let error):
            told.isLive = false
            guard told.loss == nil else { return nil }
            told.loss = error.readable
            return .warning("is lost, connecting again: \(error.readable)")
        case .failed(let error):
            guard !told.hasFailed else { return nil }
            told.hasFailed = true
            return .warning("has given up: \(error.readable)")
        case .idle, .connecting, .finished: return nil
        }
    }
}

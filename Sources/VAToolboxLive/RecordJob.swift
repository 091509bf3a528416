// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import CommandLineSupport
import Glibc
import LiveSessions
import MediaIO
import MediaTypes
import Synchronization

/// One run of `vatoolbox record`, from the command line to the exit status.
final class RecordJob: LiveJob {
    let base: FileJob
    let signals = [SIGUSR1, SIGUSR2]
    private let command: RecordCommand
    private let state = Mutex(State())

    private struct State {
        var session: LiveSession?
        var replay: (buffer: ReplayBuffer, options: MediaSink.Options)?
        var saved: [ReplayBuffer.Saved] = []
        /// The number of replays that were begun to be saved.
        var count = 0
    }

    init(_ command: RecordCommand) {
        self.command = command
        base = FileJob([command.report], usesStandardOutput: false, ending: "finishing the file")
    }

    func handle(signal: Int32) {
        if signal == SIGUSR1 { saveReplay() } else { togglePause() }
    }

    func run() async -> ExitStatus {
        do throws(MediaError) {
            let session = try makeSession()
            state.withLock { $0.session = session }
            base.begin { session.stop() }
            let keys = Keys { [self] key in handle(key) }
            defer { keys?.restore() }
            let teller = LiveTeller(console: base.console)
            let summary = try await base.watching {
                let status = session.status
                teller.tell(status)
                return RecordProgress(status: status)
            } during: { () async throws(MediaError) in
                try await session.run()
            }
            let (saved, replays) = state.withLock { ($0.saved, $0.replay != nil) }
            return base.report(
                RecordOutcome(summary: summary, session: session.status, saved: saved, isReplay: replays)
            )
        } catch {
            return base.fail(error)
        }
    }

    private func makeSession() throws(MediaError) -> LiveSession {
        try command.report.validateFlags()
        var settings = try command.encoder.settings()
        settings.duration = try command.output.duration?.value(of: "--duration").time
        let pictures = try command.inputs.pictures()
        let sound = try command.inputs.sound()
        guard !pictures.isEmpty || sound != nil else {
            throw MediaError(.invalidArgument, "there is nothing to record", allowed: "--video, --audio, or both")
        }
        switch try command.output.destination() {
        case .file(let options):
            return try LiveSession(
                pictures: pictures,
                sound: sound,
                settings: settings,
                path: command.output.output,
                options: options
            )
        case .replay(let buffer, let options):
            state.withLock { $0.replay = (buffer, options) }
            return try LiveSession(pictures: pictures, sound: sound, settings: settings, replay: buffer)
        }
    }

    // MARK: - Keys and signals

    private func handle(_ key: Character) {
        switch key {
        case "q", "Q": base.interrupt(before: 0)
        case "p", "P", " ": togglePause()
        case "s", "S": saveReplay()
        default:
            guard let number = key.wholeNumberValue, number > 0 else { return }
            state.withLock { $0.session }?.use(input: number - 1)
        }
    }

    private func togglePause() {
        guard let session = state.withLock({ $0.session }) else { return }
        if session.status.phase == .paused { session.resume() } else { session.pause() }
    }

    private func saveReplay() {
        let (replay, number) = state.withLock { state in
            state.count += 1
            return (state.replay, state.count)
        }
        guard let replay else { return base.console.note("there is no replay to save: record with --replay") }
        let path = command.output.path(number)
        do throws(MediaError) {
            try PlainThread.start(name: "vt-replay") { [self] in
                do throws(MediaError) {
                    let saved = try replay.buffer.save(to: path, options: replay.options)
                    state.withLock { $0.saved.append(saved) }
                    base.console.note("saved \(path), \(Readable.number(saved.duration.seconds, places: 1)) s")
                } catch {
                    base.console.warning("the replay is not saved: \(error.readable)")
                }
            }
        } catch {
            base.console.warning("the replay is not saved: \(error.readable)")
        }
    }
}

/// Tells on the console what happens to inputs.
final class LiveTeller: Sendable {
    private let console: Console
    private let told = Mutex<(losses: [Int], hasEncoder: Bool)>(([], false))

    init(console: Console) { self.console = console }

    /// Tells what is new in a status.
    func tell(_ status: LiveStatus) {
        let news = told.withLock { told -> [String] in
            var news: [String] = []
            if told.losses.count != status.inputs.count { told.losses = status.inputs.map { _ in 0 } }
            for (index, input) in status.inputs.enumerated() where input.losses > told.losses[index] {
                told.losses[index] = input.losses
                news.append("\(input.name) is gone, and waited for: \(input.error?.readable ?? "it is back already")")
            }
            return news
        }
        for text in news { console.warning(text) }
    }
}

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
        /// The replays that were begun to be saved; `nil` is one that could not be.
        var saves: [Task<ReplayBuffer.Saved?, Never>] = []
        var hasEnded = false
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
            let teller = LiveTeller(console: base.console)
            let levels = SoundLevels { session.takeLevels() }
            let summary = try await attending {
                self.handle($0)
            } tell: {
                teller.tell(session.status)
            } progress: {
                RecordProgress(status: session.status, levels: levels)
            } during: { () async throws(MediaError) in
                try await session.run()
            }
            let saved = await endSaving()
            let isReplay = state.withLock { $0.replay != nil }
            return base.report(
                RecordOutcome(summary: summary, session: session.status, saved: saved, isReplay: isReplay)
            )
        } catch {
            _ = await endSaving()
            return base.fail(error)
        }
    }

    private func makeSession() throws(MediaError) -> LiveSession {
        try command.report.validateFlags()
        var settings = try command.encoder.settings()
        settings.duration = try command.output.duration?.value(of: "--duration").time
        let pictures = try command.inputs.pictures()
        try command.encoder.refuseEncoding(of: pictures)
        let sound = try command.inputs.sound()
        guard !pictures.isEmpty || sound != nil else {
            throw MediaError(.invalidArgument, "there is nothing to record", allowed: "--video, --audio, or both")
        }
        settings.preview = try command.inputs.previewer(of: pictures, console: base.console)
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

    private func togglePause() { state.withLock { $0.session }?.togglePause() }

    // MARK: - Replays

    private func saveReplay() {
        let hasReplay = state.withLock { state in
            guard let replay = state.replay else { return false }
            if state.hasEnded { return true }
            let path = command.output.path(state.saves.count + 1)
            state.saves.append(Task { await save(replay.buffer, to: path, replay.options) })
            return true
        }
        if !hasReplay { base.console.note("there is no replay to save: record with --replay") }
    }

    private func save(
        _ buffer: ReplayBuffer,
        to path: String,
        _ options: MediaSink.Options
    ) async -> ReplayBuffer.Saved? {
        do throws(MediaError) {
            let saved = try await PlainThread.result(name: "vt-replay") { () throws(MediaError) in
                try buffer.save(to: path, options: options)
            }
            base.console.note("saved \(path), \(Readable.number(saved.duration.seconds, places: 1)) s")
            return saved
        } catch {
            base.console.warning("the replay is not saved: \(error.readable)")
            return nil
        }
    }

    /// Waits for the replays that are being saved, and begins no more.
    private func endSaving() async -> [ReplayBuffer.Saved] {
        let saves = state.withLock { state in
            state.hasEnded = true
            return state.saves
        }
        var saved: [ReplayBuffer.Saved] = []
        for save in saves {
            if let file = await save.value { saved.append(file) }
        }
        return saved
    }
}

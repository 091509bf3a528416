// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import Capture
internal import Dispatch
internal import MediaTypes
internal import Synchronization

/// Reads several devices of sound, and mixes them.
final class SoundMix {
    /// A device of a mix.
    struct Part: Sendable {
        /// The name for people.
        var name: String
        /// The gain in dB.
        var gain = 0.0
        /// Opens the device.
        var open: @Sendable (StopSignal) throws(MediaError) -> any SoundDevice
    }

    private typealias Reader = DeviceReader<AudioFormat, CapturedSound>

    /// What the devices have done since the mixer has asked.
    private final class Inbox: Sendable {
        struct State {
            /// The devices that were opened.
            var open: Set<Int> = []
            /// Those that were opened and are gone.
            var gone: Set<Int> = []
            /// What has happened to devices after they were opened.
            var news: [(index: Int, loss: MediaError?)] = []
            var failure: MediaError?
            var sounds: [(index: Int, sound: CapturedSound)] = []
        }

        /// The number of buffers that may wait: some seconds of sound. The oldest one is dropped for another.
        private static let limit = 4000

        let state = Mutex(State())
        private let isFilled = DispatchSemaphore(value: 0)

        func put(_ event: Reader.Event, from index: Int) {
            state.withLock { state in
                switch event {
                case .opened:
                    state.open.insert(index)
                    if state.gone.remove(index) != nil { state.news.append((index, nil)) }
                case .item(let sound):
                    if state.sounds.count >= Self.limit { state.sounds.removeFirst() }
                    state.sounds.append((index, sound))
                case .failed(let error): state.failure = state.failure ?? error
                case .gone(let error):
                    if state.gone.insert(index).inserted { state.news.append((index, error)) }
                }
            }
            isFilled.signal()
        }

        /// Waits for an event, but not for long, so that a device that is silent holds nothing up.
        func wait() { _ = isFilled.wait(timeout: .now() + .milliseconds(20)) }

        /// Takes what has happened to a device: the error with which it is gone, or `nil` if it is back.
        func takeNews() -> (index: Int, loss: MediaError?)? {
            state.withLock { $0.news.isEmpty ? nil : $0.news.removeFirst() }
        }

        /// Takes the sound.
        ///
        /// - Throws: The error of a device that has failed.
        func take() throws(MediaError) -> [(index: Int, sound: CapturedSound)] {
            let (sounds, failure) = state.withLock { state in
                defer { state.sounds = [] }
                return (state.sounds, state.failure)
            }
            if let failure { throw failure }
            return sounds
        }
    }

    /// The readers of the devices. Releasing it ends them, also where a mix cannot be made.
    private final class Readers {
        private var readers: [Reader] = []

        func add(_ reader: Reader, _ inbox: Inbox) {
            let index = readers.count
            readers.append(reader)
            Task { while let event = await reader.next() { inbox.put(event, from: index) } }
        }

        deinit { for reader in readers { reader.stop() } }
    }

    let format: AudioFormat
    private let names: [String]
    private let readers: Readers
    private let inbox = Inbox()
    private let mixer: SoundMixer
    private let stop: StopSignal

    /// Opens the devices, and waits until all of them are open.
    ///
    /// - Throws: The error of a device.
    init(_ parts: [Part], stop: StopSignal) throws(MediaError) {
        self.stop = stop
        names = parts.map(\.name)
        mixer = try SoundMixer(gains: parts.map(\.gain))
        format = mixer.format
        readers = Readers()
        var options = Reader.Options()
        options.waiting = 1000
        for (index, part) in parts.enumerated() {
            let reader = try Reader(name: "vt-sound-\(index)", options: options) { stop throws(MediaError) in
                let device = try part.open(stop)
                return (device.format, { () throws(MediaError) in try device.read() })
            }
            readers.add(reader, inbox)
        }
        while inbox.state.withLock({ $0.open.count < parts.count }) {
            if stop.isStopped { throw StopSignal.stopped }
            inbox.wait()
            _ = try inbox.take()
        }
    }

    /// Returns the next mixed buffer, or what has happened to a device.
    func read() throws(MediaError) -> LiveItem {
        while true {
            if stop.isStopped { throw StopSignal.stopped }
            if let (index, loss) = inbox.takeNews() {
                return loss.map { .lost(name: names[index], $0) } ?? .back(name: names[index])
            }
            let now = MonotonicClock.now
            for (index, sound) in try inbox.take() { try mixer.append(sound, from: index, now: now) }
            if let buffer = try mixer.take(now: now) { return .sound(buffer) }
            inbox.wait()
        }
    }
}

extension LiveInput {
    /// Makes an input that mixes devices of sound.
    static func mix(_ parts: [SoundMix.Part]) -> LiveInput {
        var options = Reader.Options()
        options.waiting = 1000
        return LiveInput(name: parts.map(\.name).joined(separator: " + "), options: options) {
            stop throws(MediaError) in
            let mix = try SoundMix(parts, stop: stop)
            return (LiveContents(sound: mix.format), { () throws(MediaError) in try mix.read() })
        }
    }
}

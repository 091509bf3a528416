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

    /// What the devices have delivered and the mixer has not got.
    private final class Inbox: Sendable {
        let events = Mutex<[(index: Int, event: Reader.Event)]>([])
        let isFilled = DispatchSemaphore(value: 0)

        func put(_ event: Reader.Event, from index: Int) {
            events.withLock { $0.append((index, event)) }
            isFilled.signal()
        }

        func take() -> [(index: Int, event: Reader.Event)] {
            events.withLock { events in
                defer { events = [] }
                return events
            }
        }
    }

    let format: AudioFormat
    private let readers: [Reader]
    private let inbox: Inbox
    private let mixer: SoundMixer
    private let stop: StopSignal

    /// The wait for devices after which the mixer is asked again, in seconds, so that one that is silent holds nothing up.
    private static let pause = 0.02

    /// Opens the devices, and waits until all of them are open.
    ///
    /// - Throws: The error of a device.
    init(_ parts: [Part], stop: StopSignal) throws(MediaError) {
        self.stop = stop
        let inbox = Inbox()
        self.inbox = inbox
        var options = Reader.Options()
        options.waiting = 1000
        var readers: [Reader] = []
        for (index, part) in parts.enumerated() {
            let reader = try Reader(name: "vt-sound-\(index)", options: options) { stop throws(MediaError) in
                let device = try part.open(stop)
                return (device.format, { () throws(MediaError) in try device.read() })
            }
            readers.append(reader)
            Task { while let event = await reader.next() { inbox.put(event, from: index) } }
        }
        self.readers = readers
        try Self.waitUntilOpen(parts, inbox, stop)
        mixer = try SoundMixer(gains: parts.map(\.gain))
        format = mixer.format
    }

    deinit { for reader in readers { reader.stop() } }

    private static func waitUntilOpen(_ parts: [Part], _ inbox: Inbox, _ stop: StopSignal) throws(MediaError) {
        var open: Set<Int> = []
        while open.count < parts.count {
            if stop.isStopped { throw StopSignal.stopped }
            _ = inbox.isFilled.wait(timeout: .now() + pause)
            for (index, event) in inbox.take() {
                switch event {
                case .opened: open.insert(index)
                case .failed(let error): throw error
                case .item, .gone: continue
                }
            }
        }
    }

    /// Returns the next mixed buffer.
    func read() throws(MediaError) -> LiveItem {
        while true {
            if stop.isStopped { throw StopSignal.stopped }
            let now = MonotonicClock.now
            for (index, event) in inbox.take() {
                switch event {
                case .item(let sound): try mixer.append(sound, from: index, now: now)
                case .failed(let error): throw error
                case .opened, .gone: continue
                }
            }
            if let buffer = try mixer.take(now: now) { return .sound(buffer) }
            _ = inbox.isFilled.wait(timeout: .now() + Self.pause)
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

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTimeline
internal import MediaTypes
internal import Synchronization

/// Decodes one stream with a ``MediaTypes/DecoderBackend`` that the user of a ``MediaSource`` supplies, in the place of
/// ``VideoDecoder``. Used from one thread at a time.
///
/// Samples go out and pictures come back here. Everything before and after, reading and repairing times, is the same for
/// both decoders.
final class BackendDecoder {
    /// A decoded picture, with times in ticks of the stream's time base.
    struct Picture {
        var buffer: PixelBuffer
        /// The time that its packet states; `nil` if it states none.
        var time: Int64?
        /// The duration that its packet states; 0 if it states none.
        var duration: Int64
    }

    /// The result of a call to ``receive()``.
    enum Output {
        case picture(Picture)
        /// The sample of an earlier picture is damaged.
        case damaged(time: Int64?)
        /// A sample has no picture because of its damage.
        case lost(time: Int64?, MediaError)
        case needsInput
        case finished
    }

    /// The output that was not handled yet.
    private final class Inbox: Sendable {
        let outputs = Mutex<[DecoderOutput]>([])

        func take() -> [DecoderOutput] {
            outputs.withLock { outputs in
                defer { outputs.removeAll(keepingCapacity: true) }
                return outputs
            }
        }
    }

    /// What is remembered of a sample until its picture has come and its damage is known.
    private struct Pending {
        var presentationTime: Int64?
        var duration: Int64
        var damage: MediaError?
        var hasPicture = false
        /// Whether it precedes the first picture that is returned.
        var isHidden = false
    }

    /// How many samples later a picture, and a report of damage, come at the latest.
    private static let longestDelay: Int64 = 64

    private let inbox: Inbox
    private let backend: any DecoderBackend
    private var record: SampleRecord
    /// The samples of the record that the decoder has not got yet, the last one first.
    private var waiting: [TimedSample]
    private var outputs: ArraySlice<DecoderOutput> = []
    private var pending: [Int64: Pending] = [:]
    /// The number of the oldest sample in ``pending``, and that of the next sample.
    private var (oldest, next): (Int64, Int64) = (0, 0)
    /// The time of the first picture to return; earlier ones lack their references.
    private var firstPicture: Int64?
    private var times: StatedTimes
    private var isDrained = false

    /// - Parameters:
    ///   - record: The samples that precede the first packet.
    ///   - reorderDepth: The number of samples by which libavcodec delays pictures.
    /// - Throws: The errors of the record's format and of the factory.
    init(_ factory: any DecoderFactory, _ record: SampleRecord, reorderDepth: Int) throws(MediaError) {
        self.record = record
        let inbox = Inbox()
        self.inbox = inbox
        waiting = record.samples.reversed()
        firstPicture = record.firstPicture ?? nil
        times = StatedTimes(reorderDepth: reorderDepth)
        let request = DecoderRequest(formatDescription: try record.formatDescription()) { output in
            inbox.outputs.withLock { $0.append(output) }
        }
        backend = try factory.makeDecoder(request)
    }

    /// Submits a packet, after ``receive()`` has reported that it needs input; `nil` ends the input.
    func send(_ packet: UnsafePointer<AVPacket>?) throws(MediaError) {
        if let packet {
            if let sample = try record.next(packet) { try decode(sample) }
        } else if !isDrained {
            isDrained = true
            // The end of the part to read may come before the end of the record.
            waiting = []
            try backend.drain()
        }
    }

    private func decode(_ sample: TimedSample) throws(MediaError) {
        let number = next
        next += 1
        pending[number] = Pending(presentationTime: sample.presentationTime, duration: sample.duration)
        times.add(sample.decodeTime)
        do throws(MediaError) {
            try backend.decode(DecoderSample(number: number, sample: try sample.content.get()))
        } catch {
            guard error.code == .malformedData else { throw error }
            pending[number]?.damage = error
        }
    }

    /// Whether there is output that ``receive()`` has not returned yet.
    var hasOutput: Bool { !outputs.isEmpty || inbox.outputs.withLock { !$0.isEmpty } }

    /// Returns the next picture, or what happens instead.
    func receive() throws(MediaError) -> Output {
        while true {
            if let damage = nextDamage() { return damage }
            if outputs.isEmpty { outputs = inbox.take()[...] }
            switch outputs.popFirst() {
            case .picture(let picture):
                if let picture = take(picture) { return .picture(picture) }
            case .damaged(let number, let error):
                if pending[number]?.damage == nil { pending[number]?.damage = error }
            case .failed(let error): throw error
            case nil:
                if let sample = waiting.popLast() {
                    try decode(sample)
                } else {
                    return isDrained ? .finished : .needsInput
                }
            }
        }
    }

    private func take(_ picture: DecodedPicture) -> Picture? {
        guard let sample = pending[picture.number], !sample.hasPicture else { return nil }
        pending[picture.number]?.hasPicture = true
        let stated = times.next(sample.presentationTime)
        if let first = firstPicture, let time = stated {
            if time < first {
                pending[picture.number]?.isHidden = true
                return nil
            }
            // Those that have no picture until now cannot get one: the decoder lacks their references.
            for (number, sample) in pending where sample.presentationTime.map({ $0 < first }) ?? false {
                pending[number]?.isHidden = true
            }
            firstPicture = nil
        }
        return Picture(buffer: picture.buffer, time: stated, duration: sample.duration)
    }

    /// Forgets samples of which nothing is reported any more, up to one with damage.
    private func nextDamage() -> Output? {
        var end = next - Self.longestDelay
        if isDrained, outputs.isEmpty, inbox.outputs.withLock({ $0.isEmpty }) { end = next }
        while oldest < end {
            defer { oldest += 1 }
            guard let sample = pending.removeValue(forKey: oldest), let damage = sample.damage, !sample.isHidden else {
                continue
            }
            return sample.hasPicture
                ? .damaged(time: sample.presentationTime) : .lost(time: sample.presentationTime, damage)
        }
        return nil
    }
}

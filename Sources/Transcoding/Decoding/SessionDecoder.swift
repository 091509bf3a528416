// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import MediaTypes
import Synchronization
import VAToolbox

/// Makes the decoder of a `MediaSource` of a session that exists already.
struct SessionDecoderFactory: DecoderFactory {
    let session: DecompressionSession
    let description: DecoderDescription
    /// The pictures that the job keeps in the decoder's memory at most.
    let pictures: HeldPictures
    /// Receives the session's events.
    let notify: @Sendable (DecompressionEvent) -> Void

    var identity: DecoderIdentity { description.identity }

    func makeDecoder(_ request: DecoderRequest) -> any DecoderBackend {
        SessionDecoder(self, request.output)
    }
}

/// A ``VAToolbox/DecompressionSession`` as the decoder of a `MediaSource`, which reads and filters on a thread of its own
/// that may block.
///
/// Some samples may wait for the session, so that the reader works while the decoder does. Pictures never wait for the
/// reader: a decoder that has no memory for them left would otherwise wait for a reader that waits for the decoder.
private final class SessionDecoder: DecoderBackend {
    let properties: DecoderProperties

    /// The samples that may wait for the session.
    private static let samplesAhead = 4

    private let samples: AsyncStream<DecoderSample>.Continuation
    private let numbers = SampleNumbers()
    /// Has a place for each sample that may wait.
    private let room = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private var isDrained = false

    init(_ factory: SessionDecoderFactory, _ output: @escaping @Sendable (DecoderOutput) -> Void) {
        properties = factory.description.properties
        for _ in 0..<Self.samplesAhead { room.signal() }
        let (samples, continuation) = AsyncStream.makeStream(of: DecoderSample.self)
        self.samples = continuation
        let (session, pictures, notify) = (factory.session, factory.pictures, factory.notify)
        let consumer = Task { [frames = session.frames] in
            do throws(MediaError) {
                for try await frame in frames {
                    guard let number = frame.token as? Int64 else { continue }
                    output(.picture(DecodedPicture(number: number, buffer: try pictures.admit(frame.buffer))))
                }
            } catch {
                output(.failed(error))
            }
        }
        let events = Task { [events = session.events, numbers] in
            for await event in events {
                if case .damaged(let time, let error) = event, let number = numbers[time] {
                    output(.damaged(number: number, error))
                }
                notify(event)
            }
        }
        Task { [room, ended] in
            for await sample in samples {
                do throws(MediaError) {
                    try await session.decode(sample.sample, token: sample.number)
                } catch {
                    output(error.code == .malformedData ? .damaged(number: sample.number, error) : .failed(error))
                }
                room.signal()
            }
            do throws(MediaError) { try await session.finish() } catch { output(.failed(error)) }
            await consumer.value
            await events.value
            ended.signal()
        }
    }

    /// Without ``drain()``, the session is cancelled by its owner.
    deinit { samples.finish() }

    func decode(_ sample: DecoderSample) throws(MediaError) {
        room.wait()
        numbers.add(sample)
        samples.yield(sample)
    }

    func drain() throws(MediaError) {
        guard !isDrained else { return }
        isDrained = true
        samples.finish()
        ended.wait()
    }
}

/// The numbers of recent samples, by their presentation times.
private final class SampleNumbers: Sendable {
    /// More samples than a decoder works on.
    private static let most = 256

    private let known = Mutex<(numbers: [MediaTime: Int64], order: [MediaTime])>(([:], []))

    func add(_ sample: DecoderSample) {
        let time = sample.sample.presentationTime
        known.withLock { known in
            known.numbers[time] = sample.number
            known.order.append(time)
            guard known.order.count > 2 * Self.most else { return }
            let kept = Set(known.order.suffix(Self.most))
            known.order.removeFirst(known.order.count - Self.most)
            known.numbers = known.numbers.filter { kept.contains($0.key) }
        }
    }

    subscript(time: MediaTime) -> Int64? { known.withLock { $0.numbers[time] } }
}

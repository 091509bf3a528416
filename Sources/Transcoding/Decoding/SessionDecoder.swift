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
///
/// Released without ``drain()``, it leaves the session to its owner, who cancels it.
private final class SessionDecoder: DecoderBackend {
    let properties: DecoderProperties

    private let session: DecompressionSession
    private let output: @Sendable (DecoderOutput) -> Void
    private let numbers = SampleNumbers()
    private let waiting = WaitingSamples()
    private let consumer: Task<Void, Never>
    private let events: Task<Void, Never>
    private var isDrained = false

    init(_ factory: SessionDecoderFactory, _ output: @escaping @Sendable (DecoderOutput) -> Void) {
        properties = factory.description.properties
        session = factory.session
        self.output = output
        let (pictures, notify) = (factory.pictures, factory.notify)
        consumer = Task { [frames = session.frames] in
            do throws(MediaError) {
                for try await frame in frames {
                    guard let number = frame.token as? Int64 else { continue }
                    output(.picture(DecodedPicture(number: number, buffer: try pictures.admit(frame.buffer))))
                }
            } catch {
                output(.failed(error))
            }
        }
        events = Task { [events = session.events, numbers] in
            for await event in events {
                if case .damaged(let time, let error) = event, let number = numbers[time] {
                    output(.damaged(number: number, error))
                }
                notify(event)
            }
        }
    }

    func decode(_ sample: DecoderSample) throws(MediaError) {
        waiting.waitForRoom()
        numbers.add(sample)
        waiting.add()
        session.submit(sample.sample, token: sample.number) { [waiting, output, number = sample.number] outcome in
            if case .failure(let error) = outcome {
                output(error.code == .malformedData ? .damaged(number: number, error) : .failed(error))
            }
            waiting.remove()
        }
    }

    func drain() throws(MediaError) {
        guard !isDrained else { return }
        isDrained = true
        waiting.waitForAll()
        let ended = DispatchSemaphore(value: 0)
        Task { [session, output, consumer, events] in
            do throws(MediaError) { try await session.finish() } catch { output(.failed(error)) }
            await consumer.value
            await events.value
            ended.signal()
        }
        ended.wait()
    }
}

/// Counts the samples that wait for a session. One thread waits.
private final class WaitingSamples: Sendable {
    private struct State {
        var count = 0
        /// The number for which the thread waits.
        var awaited: Int?
    }

    /// The number of samples that may wait. Their pictures may all be there before the reader takes one, and more of them
    /// than the decoder has memory for would be copied.
    private static let most = 4

    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)

    /// If as many samples wait as may, waits until only half of them do, so that the thread is not woken for each.
    func waitForRoom() {
        if state.withLock({ $0.count }) >= Self.most { wait(forAtMost: Self.most / 2) }
    }

    /// Waits until no sample waits.
    func waitForAll() { wait(forAtMost: 0) }

    private func wait(forAtMost most: Int) {
        let mustWait = state.withLock { state in
            state.awaited = state.count > most ? most : nil
            return state.awaited != nil
        }
        if mustWait { room.wait() }
    }

    func add() { state.withLock { $0.count += 1 } }

    func remove() {
        let isAwaited = state.withLock { state in
            state.count -= 1
            guard let awaited = state.awaited, state.count <= awaited else { return false }
            state.awaited = nil
            return true
        }
        if isAwaited { room.signal() }
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

// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// Pictures on a GPU that could not be decoded again if its helper ended.
@Suite struct EndangeredPictureTests {
    private final class Surface: DeviceSurface {
        let device = "/dev/dri/renderD128"
        let isLost: Bool
        /// Copying waits for it.
        let gate: Gate?
        init(isLost: Bool, gate: Gate? = nil) {
            self.isLost = isLost
            self.gate = gate
        }
        var isReadable: Bool { true }
        func copy(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
            gate?.pass()
            if isLost { throw MediaError(.frameFailed, "a test has lost it") }
            return try PixelBuffer(picture)
        }
    }

    /// Where a thread waits for the test.
    private final class Gate: Sendable {
        let isReached = Atomic(false)
        let isLeft = Atomic(false)
        let opening = DispatchSemaphore(value: 0)

        func pass() {
            isReached.store(true, ordering: .releasing)
            opening.wait()
        }
    }

    /// A session's delivery, and what it has told.
    private final class Rig: Sendable {
        let queue = SampleQueue<DecodedFrame>(
            marks: (100, 100),
            byteCount: { _ in 1 },
            onCaughtUp: {},
            onAbandoned: {}
        )
        let delivery: FrameDelivery
        private let events: Events

        final class Events: Sendable {
            let told = Mutex<[DecompressionEvent]>([])
        }

        /// - Parameter hasPoints: Whether samples are known to be random access points.
        init(hasPoints: Bool) {
            let events = Events()
            self.events = events
            var options = DecompressionOptions()
            options.devicePictureLimit = 8
            delivery = FrameDelivery(options: options, queue: queue) { event in
                events.told.withLock { $0.append(event) }
            }
            delivery.update { state in
                for sample in ModelStream(seed: 3).samples {
                    let number = state.window.add(sample)
                    if hasPoints { state.repeatable?.add(number, sample, oldest: 0) }
                    state.window.accepted(number)
                }
            }
            delivery.begin(1)
        }

        @discardableResult
        func give(_ number: Int64, isLost: Bool = false, gate: Gate? = nil) throws -> Bool {
            let description = PixelBuffer.Description(format: .nv12, width: 16, height: 16)
            let buffer = try PixelBuffer(description, surface: Surface(isLost: isLost, gate: gate))
            return delivery.receive(.picture(DecodedPicture(number: number, buffer: buffer)), from: 1)
        }

        /// Where the next frame is.
        func nextStorage() async throws -> String? { try await queue.next()?.buffer.storage.name }

        var reasons: [String] {
            events.told.withLock { $0 }.compactMap {
                if case .copiedFromDevice(_, let error) = $0 { error.message } else { nil }
            }
        }
    }

    @Test func theyAreCopiedAndItIsToldOnce() async throws {
        let rig = Rig(hasPoints: false)
        #expect(rig.queue.claim())
        for number in 0..<3 { #expect(try !rig.give(Int64(number))) }
        for _ in 0..<3 { #expect(try await rig.nextStorage() == "owned memory") }
        #expect(rig.reasons.count == 1)
        #expect(rig.reasons.first?.contains("follows no IDR picture and no open random access point") == true)
        #expect(rig.delivery.statistics.returnedFrames == 3)
    }

    @Test func othersStayOnTheDevice() async throws {
        let rig = Rig(hasPoints: true)
        #expect(rig.queue.claim())
        #expect(try !rig.give(0))
        #expect(try await rig.nextStorage() == "device surface")
        #expect(rig.reasons.isEmpty)
    }

    /// The decoder has failed then, and another one decodes the sample again: no later picture may come before.
    @Test func aCopyThatFailsIsAFailureOfTheDecoder() throws {
        let rig = Rig(hasPoints: false)
        #expect(try !rig.give(0))
        #expect(try rig.give(1, isLost: true))
        #expect(try !rig.give(2))
        #expect(rig.queue.position.appended == 1)
        #expect(rig.delivery.leave()?.message == "a test has lost it")
        rig.delivery.begin(1)
        #expect(try !rig.give(1))
        #expect(rig.queue.position.appended == 2)
    }

    /// A session that is cancelled, or that takes another decoder, does not wait for a driver that copies.
    @Test func nobodyWaitsForACopy() async throws {
        let rig = Rig(hasPoints: false)
        let gate = Gate()
        try PlainThread.start(name: "vt-test") {
            _ = try? rig.give(0, gate: gate)
            gate.isLeft.store(true, ordering: .releasing)
        }
        try await eventually { gate.isReached.load(ordering: .acquiring) }
        #expect(rig.delivery.statistics.returnedFrames == 0)
        rig.delivery.end()
        gate.opening.signal()
        try await eventually { gate.isLeft.load(ordering: .acquiring) }
        // It was too late.
        #expect(rig.queue.position.appended == 0 && rig.reasons.isEmpty)
    }
}

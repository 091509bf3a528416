// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// Whose output is passed on, and who is told of a failure.
@Suite struct FrameDeliveryTests {
    private let queue = SampleQueue<DecodedFrame>(
        marks: (100, 100),
        byteCount: { _ in 1 },
        onCaughtUp: {},
        onAbandoned: {}
    )
    private let delivery: FrameDelivery
    private let error = MediaError(.frameFailed, "a test")

    init() {
        delivery = FrameDelivery(options: DecompressionOptions(), queue: queue) { _ in }
        delivery.update { state in
            for sample in ModelStream(seed: 3).samples {
                let number = state.window.add(sample)
                state.window.accepted(number)
            }
        }
    }

    private func picture(_ number: Int64) throws -> DecoderOutput {
        let buffer = try PixelBuffer(PixelBuffer.Description(format: .nv12, width: 16, height: 16))
        return .picture(DecodedPicture(number: number, buffer: buffer))
    }

    @Test func framesAreQueuedAtOnce() throws {
        delivery.begin(1)
        #expect(delivery.enter() == nil)
        #expect(!delivery.receive(try picture(0), from: 1))
        // The call of the decoder goes on.
        #expect(queue.position.appended == 1)
        #expect(delivery.leave() == nil)
    }

    @Test func theOutputOfADecoderThatWasGivenUpIsIgnored() throws {
        delivery.begin(1)
        _ = delivery.receive(try picture(0), from: 1)
        delivery.end()
        #expect(!delivery.receive(try picture(1), from: 1))
        #expect(!delivery.receive(.failed(error), from: 1))
        delivery.begin(2)
        #expect(!delivery.receive(try picture(1), from: 1))
        #expect(!delivery.receive(.damaged(number: 1, error), from: 1))
        #expect(!delivery.receive(.failed(error), from: 1))
        #expect(queue.position.appended == 1 && delivery.statistics.damagedSamples == 0)
        #expect(delivery.leave() == nil)
        // What was returned before is not returned again.
        _ = delivery.receive(try picture(0), from: 2)
        #expect(queue.position.appended == 1)
        _ = delivery.receive(try picture(1), from: 2)
        #expect(queue.position.appended == 2)
    }

    @Test func aFailureIsToldOnce() {
        delivery.begin(1)
        #expect(delivery.receive(.failed(error), from: 1))
        #expect(delivery.enter() == error)
        #expect(!delivery.receive(.failed(error), from: 1))
        #expect(delivery.leave() == error)
        #expect(delivery.leave() == nil)
        #expect(delivery.receive(.failed(error), from: 1))
        delivery.begin(2)
        #expect(delivery.enter() == nil)
    }
}

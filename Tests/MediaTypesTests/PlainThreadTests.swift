// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import MediaTypes
import Testing

@Suite struct PlainThreadTests {
    @Test func theResultOfTheThreadIsReturned() async throws {
        #expect(try await PlainThread.result(name: "vt-test") { 42 } == 42)
        let error = await #expect(throws: MediaError.self) {
            try await PlainThread.result(name: "vt-test") { () throws(MediaError) -> Int in
                throw MediaError(.unavailable, "not there")
            }
        }
        #expect(error?.code == .unavailable)
    }

    /// What blocks for ever, as opening a device of a driver that hangs, does not keep a task that is cancelled.
    @Test(arguments: [true, false]) func cancellationDoesNotWaitForTheThread(isLate: Bool) async {
        let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let call = Task {
            try await PlainThread.result(name: "vt-test") {
                hasBegun.signal()
                mayEnd.wait()
                return 1
            }
        }
        if isLate { await Self.wait(for: hasBegun) }
        call.cancel()
        let error = await #expect(throws: MediaError.self) { try await call.value }
        #expect(error?.code == .cancelled)
        // The value comes too late for anybody.
        mayEnd.signal()
    }

    private static func wait(for event: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                event.wait()
                continuation.resume()
            }
        }
    }
}

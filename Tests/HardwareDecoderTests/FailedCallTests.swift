// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import HardwareDecoder

/// Errors of drivers, of which libavcodec only logs what failed.
@Suite struct FailedCallTests {
    @Test(arguments: [
        ("Failed to end picture decode issue: 24 (internal encoding error).", "vaEndPicture", 24),
        ("Failed to create parameter buffer (type 0): 2 (resource allocation failed).", "vaCreateBuffer", 2),
        ("Failed to upload slices: 18 (invalid parameter).", "vaRenderPicture", 18),
        ("Failed to create decode context: 2 (resource allocation failed).", "vaCreateContext", 2),
    ])
    func callsAreNamed(message: String, call: String, status: Int) throws {
        let error = try #require(FailedCall(message: message)?.error)
        #expect(error.call == call && error.status == status && !error.isPermanent)
        #expect(error.code == (call == "vaCreateContext" ? .creationFailed : .frameFailed))
        #expect(message.contains(error.message))
    }

    @Test(arguments: [
        "decode_slice_header error", "Failed to end picture decode issue", "Failed to upload slices: none (at all).",
        "Failed to upload slices: 18 )(", "",
    ])
    func otherMessagesAreNoFailures(message: String) { #expect(FailedCall(message: message) == nil) }

    /// A driver that finds the data damaged has not failed.
    @Test func damageIsNoFailure() throws {
        let call = try #require(
            FailedCall(message: "Failed to end picture decode issue: 23 (internal decoding error).")
        )
        #expect(call.error == nil)
    }
}

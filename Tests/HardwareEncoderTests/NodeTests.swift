// SPDX-License-Identifier: GPL-2.0-or-later

import HardwareEncoder
import MediaTypes
import Testing

/// Devices on which no driver can be started at all.
@Suite struct NodeTests {
    private func error(_ path: String) -> MediaError? {
        let request = EncoderRequest(configuration: EncoderConfiguration(width: 64, height: 64)) { _ in }
        return #expect(throws: MediaError.self) { _ = try VAAPIEncoderFactory(device: path).makeEncoder(request) }
    }

    @Test func aNodeThatIsNotThereIsNamedWithARemedy() {
        let missing = error("/dev/dri/renderD255")
        #expect(missing?.code == .unavailable && missing?.cause != nil && missing?.remedies.isEmpty == false)
    }

    @Test func aDeviceThatIsNoGPUIsCalledThat() {
        let zero = error("/dev/zero")
        #expect(zero?.code == .unavailable && zero?.cause == .notAGPU && zero?.message.contains("/dev/zero") == true)
    }
}

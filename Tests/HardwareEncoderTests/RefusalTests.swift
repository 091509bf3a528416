// SPDX-License-Identifier: GPL-2.0-or-later

import CLibVA
import HardwareDisplay
import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

/// Which refusals of a driver trying again cannot change.
@Suite struct RefusalTests {
    private func error(_ status: Int32) -> VAError {
        VAError(call: "vaCreateConfig", status: .init(rawValue: status), text: "refused")
    }

    @Test(arguments: [VA_STATUS_ERROR_UNSUPPORTED_PROFILE, VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED])
    func whatADriverHasNotIsNotTriedAgain(_ status: Int32) {
        let refusal = MediaError(error(status), .creationFailed)
        #expect(refusal.code == .unsupported && refusal.isPermanent)
        #expect(refusal.call == "vaCreateConfig" && refusal.status == Int(status))
        // With a picture it is the failure of that picture.
        let failure = MediaError(error(status), .frameFailed)
        #expect(failure.code == .frameFailed && !failure.isPermanent)
    }

    @Test(arguments: [VA_STATUS_ERROR_ALLOCATION_FAILED, VA_STATUS_ERROR_OPERATION_FAILED])
    func whatMayPassIsTriedAgain(_ status: Int32) {
        let refusal = MediaError(error(status), .creationFailed)
        #expect(refusal.code == .creationFailed && !refusal.isPermanent)
    }

    @Test func aDeviceWithoutRoomIsBusy() {
        let refusal = MediaError(error(VA_STATUS_ERROR_HW_BUSY), .creationFailed)
        #expect(refusal.code == .busy && !refusal.isPermanent)
        let status = VAError.Status(rawValue: VA_STATUS_ERROR_ALLOCATION_FAILED)
        let context = VAError(call: "vaCreateContext", status: status, text: "refused")
        #expect(MediaError(context, .creationFailed).code == .busy)
        #expect(MediaError(context, .frameFailed).code == .frameFailed)
    }
}

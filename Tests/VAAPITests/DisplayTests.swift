// SPDX-License-Identifier: GPL-2.0-or-later

import CLibVA
import RenderNodes
import Synchronization
import Testing

@testable import VAAPI

@Suite struct CheckTests {
    @Test func successPasses() throws {
        try check("vaSyncSurface", VA_STATUS_SUCCESS)
    }

    @Test func anErrorNamesCallStatusAndMeaning() throws {
        let error = try #require(throws: VAError.self) { try check("vaSyncBuffer", 0x14) }
        #expect(error.call == "vaSyncBuffer")
        #expect(error.status.rawValue == 0x14)
        #expect(error.text == String(cString: vaErrorStr(0x14)))
        #expect("\(error.status)" == "VA_STATUS_ERROR_UNIMPLEMENTED")
        #expect("\(error)" == "vaSyncBuffer: \(error.text) (VA_STATUS_ERROR_UNIMPLEMENTED)")
    }

    @Test(arguments: [(0x7FFF, "0x7fff"), (-2, "0xfffffffe")] as [(Int32, String)])
    func aStatusThatLibVADoesNotKnowKeepsItsNumber(status: Int32, text: String) throws {
        let error = try #require(throws: VAError.self) { try check("vaEndPicture", status) }
        #expect("\(error.status)" == text)
    }
}

@Suite struct DisplayTests {
    private func failure(ofOpening path: String) throws -> DisplayError {
        do throws(DisplayError) {
            _ = try Display(path: path).version
        } catch {
            return error
        }
        throw Unexpected.success
    }

    private enum Unexpected: Error { case success }

    @Test func aMissingNodeIsRefusedWithItsCause() throws {
        let error = try failure(ofOpening: "/nonexistent/renderD128")
        guard case .refused(let refusal) = error.reason else {
            Issue.record("\(error)")
            return
        }
        #expect(refusal.cause == .vanished)
        #expect(error.path == "/nonexistent/renderD128")
        #expect(error.description == refusal.description)
    }

    @Test func aDeviceThatIsNotOneOfDRM() throws {
        let error = try failure(ofOpening: "/dev/null")
        #expect(error.reason == .notADRMDevice)
        #expect(error.description == "/dev/null is not a DRM device")
        #expect(error.messages.isEmpty)
    }

    @Test func theErrorsThatTheDriverReportedFollowTheReason() {
        let failed = VAError(call: "vaInitialize", status: .init(rawValue: -1), text: "unknown libva error")
        let messages = [
            DriverMessage(severity: .info, text: "VA-API version 1.17.0"),
            DriverMessage(severity: .error, text: "/dri/iHD_drv_video.so init failed"),
        ]
        let error = DisplayError(path: "/dev/dri/renderD128", reason: .failed(failed), messages: messages)
        #expect(
            error.description == """
                /dev/dri/renderD128: vaInitialize: unknown libva error (VA_STATUS_ERROR_UNKNOWN)
                  /dri/iHD_drv_video.so init failed
                """
        )
    }
}

@Suite struct DisplayStageTests {
    /// A driver that crashes while its file is loaded must be told from one that crashes afterwards.
    @Test func libVAAnnouncesStages() {
        let version = "VA-API version 1.17.0"
        let (first, second) = ("Trying to open /a/iHD_drv_video.so", "Trying to open /a/i965_drv_video.so")
        let found = "Found init function __vaDriverInit_1_17"
        func stage(_ texts: String...) -> DisplayStage? {
            DisplayStage(announcedBy: texts.map { DriverMessage(severity: .info, text: $0) })
        }
        #expect(stage() == nil && stage(version) == nil && stage(version, found) == nil)
        #expect(stage(version, first) == .loading(file: "/a/iHD_drv_video.so"))
        #expect(stage(version, first, found) == .initializing(file: "/a/iHD_drv_video.so"))
        #expect(stage(version, first, found, version) == nil)
        #expect(stage(version, first, found, second) == .loading(file: "/a/i965_drv_video.so"))
        #expect(stage(version, first, second, found) == .initializing(file: "/a/i965_drv_video.so"))
        let error = DriverMessage(severity: .error, text: first)
        #expect(DisplayStage(announcedBy: [error]) == nil)
    }

    @Test func stagesAreToldBeforeTheNodeIsTouched() throws {
        let stages = Mutex<[DisplayStage]>([])
        #expect(throws: DisplayError.self) {
            _ = try Display(path: "/dev/null", onStage: { stage in stages.withLock { $0.append(stage) } }).version
        }
        #expect(stages.withLock { $0 } == [.openingNode, .choosingDriver])
    }
}

@Suite struct MessageRelayTests {
    @Test func messagesReachTheHandlerAndUntilItsEndTheRecord() async {
        await confirmation(expectedCount: 3) { handled in
            let relay = MessageRelay { _ in handled() }
            relay.receive(.info, "Trying to open /dri/iHD_drv_video.so\n")
            relay.receive(.error, "init failed")
            relay.receive(.error, nil)
            #expect(
                relay.endRecord() == [
                    DriverMessage(severity: .info, text: "Trying to open /dri/iHD_drv_video.so"),
                    DriverMessage(severity: .error, text: "init failed"),
                ]
            )
            relay.receive(.info, "late")
            #expect(relay.endRecord().isEmpty)
        }
    }
}

@Suite struct DriverDescriptionTests {
    @Test(
        arguments: [
            (VAProfileH264High, "H264High"), (VAProfileHEVCMain10, "HEVCMain10"), (VAProfileNone, "None"),
            (VAProfileH264ConstrainedBaseline, "H264ConstrainedBaseline"), (VAProfile(rawValue: 4711), "profile 4711"),
        ] as [(VAProfile, String)]
    )
    func profilesHaveTheNamesOfTheField(profile: VAProfile, name: String) {
        #expect(Profile(rawValue: profile.rawValue).description == name)
    }

    @Test(
        arguments: [
            (VAEntrypointVLD, "VLD"), (VAEntrypointEncSlice, "EncSlice"), (VAEntrypointEncSliceLP, "EncSliceLP"),
            (VAEntrypointVideoProc, "VideoProc"), (VAEntrypoint(rawValue: 99), "entrypoint 99"),
        ] as [(VAEntrypoint, String)]
    )
    func entrypointsHaveTheNamesOfTheField(entrypoint: VAEntrypoint, name: String) {
        #expect(Entrypoint(rawValue: entrypoint.rawValue).description == name)
    }

    @Test func theDriverIsTheLastThatWasTried() {
        let messages = [
            "VA-API version 1.17.0", "Trying to open /a/iHD_drv_video.so", "Trying to open /a/i965_drv_video.so",
        ]
        .map { DriverMessage(severity: .info, text: $0) }
        let file = DriverDescription.loadedFile(
            accordingTo: messages + [.init(severity: .info, text: "Found init function")]
        )
        #expect(file == "/a/i965_drv_video.so")
        #expect(description(file: file).name == "i965")
        #expect(DriverDescription.loadedFile(accordingTo: []) == nil)
        #expect(description(file: nil).name == nil)
        #expect(description(file: "/a/other.so").name == nil)
    }

    private func description(file: String?) -> DriverDescription {
        DriverDescription(version: APIVersion(major: 1, minor: 17), vendor: "", file: file, profiles: [])
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import Foundation
import HelperIPC
import MediaTypes
import Testing
import VAToolbox

@testable import RenderNodes
@testable import VAAPI
@testable import VAToolboxCommand

/// What `probe` prints of what it has found.
@Suite struct ProbeTextTests {
    private let file = DeviceFile(
        kind: .characterDevice(major: 226, minor: 128),
        owner: 0,
        group: 104,
        permissions: 0o660
    )

    private func node(_ access: RenderNode.Access) -> RenderNode {
        RenderNode(
            path: "/dev/dri/renderD128",
            minor: 128,
            file: file,
            groupName: "render",
            kernelDriver: "i915",
            pci: PCIFunction(address: "0000:00:02.0", vendorID: 0x8086, deviceID: 0x9A49),
            huC: nil,
            access: access
        )
    }

    /// Nothing is known of the GPU.
    private let facts = DeviceFacts(path: "/dev/dri/renderD128", kernelDriver: nil)

    private func report(_ nodes: [ProbeReport.Node]) -> ProbeReport {
        ProbeReport(
            nodes: nodes,
            absence: nil,
            software: [.init(codec: "H.264", name: "x264 core 164", bitDepths: [8, 10], chromaFormats: ["4:2:0"])],
            ffmpegVersion: "5.1"
        )
    }

    /// VAProfileH264Main 6, H264High 7, HEVCMain 17; VAEntrypointVLD 1, EncSlice 6, EncSliceLP 8; RT format 0 with
    /// YUV420 1, rate control 5 with CBR 2, VBR 4, CQP 16, MB 128, references 13, slices 14, packed headers 10, width
    /// 18, height 19, regions 25 (va.h).
    private let driver = ProbedDriver(
        DriverReport(
            majorVersion: 1,
            minorVersion: 17,
            vendor: "Intel iHD driver - 23.1.1",
            file: "/usr/lib/x86_64-linux-gnu/dri/iHD_drv_video.so",
            profiles: [
                .init(number: 6, entrypoints: [1, 6, 8].map(DriverReport.Entrypoint.init(number:))),
                .init(number: 7, entrypoints: [1, 6, 8].map(DriverReport.Entrypoint.init(number:))),
                .init(number: 17, entrypoints: [1, 8].map(DriverReport.Entrypoint.init(number:))),
                .init(number: 19, entrypoints: [1].map(DriverReport.Entrypoint.init(number:))),
            ]
        ),
        [6, 7].flatMap { profile in
            [
                .init(profile: profile, entrypoint: 6, attributes: Self.attributes(list1: 2)),
                .init(profile: profile, entrypoint: 8, attributes: Self.attributes(list1: 0)),
            ]
        } + [
            .init(
                profile: 17,
                entrypoint: 8,
                refusal: MediaError(.unavailable, "no \u{1B}[2J more", call: "vaGetConfigAttributes")
            )
        ]
    )

    private static func attributes(list1: UInt32) -> [DriverReport.Attribute] {
        [
            (0, 1), (5, 0x96), (10, 5), (13, 3 | list1 << 16), (14, 1), (18, 4096), (19, 2304), (25, 0x203),
        ].map { DriverReport.Attribute(number: $0.0, value: $0.1) }
    }

    @Test func driverThatAnswers() throws {
        let report = report([.init(node: node(.accessible), driver: .answers(driver, trouble: nil))])
        let text = report.text(width: 80)
        #expect(
            text.contains(
                """
                  /dev/dri/renderD128
                    device    Intel 8086:9a49 at 0000:00:02.0
                    kernel    i915
                    access    accessible; group render (gid 104), mode 0660
                    driver    Intel iHD driver - 23.1.1
                    file      /usr/lib/x86_64-linux-gnu/dri/iHD_drv_video.so
                    libva     VA-API 1.17
                    encodes   H264Main, H264High
                                EncSlice    CBR VBR CQP; B-frames; up to 4096x2304
                                EncSliceLP  CBR VBR CQP; no B-frames; up to 4096x2304
                              HEVCMain
                                EncSliceLP  vaGetConfigAttributes: no [2J more

                """
            ),
            "\(text)"
        )
        #expect(text.contains("without a test encode"))
        let value = try JSONSerialization.jsonObject(with: Data(report.document.text.utf8)) as? [String: Any]
        let node = try #require((value?["renderNodes"] as? [[String: Any]])?.first)
        #expect(node["accessible"] as? Bool == true && node["mode"] as? String == "0660")
        let encodes = try #require((node["driver"] as? [String: Any])?["encodes"] as? [[String: Any]])
        #expect(encodes.map { $0["profile"] as? String } == ["H264Main", "H264High", "HEVCMain"])
    }

    /// Everything that is known is told once, in lines that fit.
    @Test func everythingThatADriverSays() {
        let report = report([.init(node: node(.accessible), driver: .answers(driver, trouble: nil))])
        #expect(!report.text(width: 80).contains("quality levels"))
        let text = report.text(width: 80, isVerbose: true)
        #expect(
            text.contains(
                """
                    H264Main, H264High by EncSliceLP
                      rate control       CBR VBR CQP, by macroblock
                      quality levels     1
                      references         3 in list 0, 0 in list 1
                      slices             1
                      packed headers     sequence slice
                      frame size limit   no
                      temporal layers    none
                      regions            up to 3, by QP offsets
                      intra refresh      none
                      dirty rectangles   none
                      trellis            no
                      sizes              up to 4096x2304
                      coded from         YUV420
                      surfaces           formats not stated; no modifiers
                      their memory       driver

                """
            ),
            "\(text)"
        )
        #expect(text.contains("      references         3 in list 0, 2 in list 1\n"))
        #expect(text.contains("    HEVCMain by EncSliceLP\n"))
        #expect(text.contains("      incomplete         vaGetConfigAttributes: no [2J more\n"))
        #expect(!text.contains("\u{1B}"))
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test func nodeOutOfReach() {
        let refusal = NodeRefusal(
            cause: .permissionDenied,
            path: "/dev/dri/renderD128",
            code: 13,
            explanation: "It is open to group render (gid 104) only.",
            remedies: ["start the container with the group: docker run --device /dev/dri --group-add 104 ..."]
        )
        let text = report([.init(node: node(.refused(refusal)), driver: .outOfReach(refusal))]).text(width: 60)
        #expect(
            text.contains(
                "    access    refused\n    cause     permission-denied\n    It is open to group render (gid 104) only.\n"
            )
        )
        #expect(text.contains("\n        docker run --device /dev/dri --group-add 104 ...\n"))
        #expect(text.contains("`vatoolbox encode` uses the CPU."))
    }

    private static let file = "/dri/iHD_drv_video.so"

    /// Each way in which a driver fails, as people and as programs see it.
    @Test(
        arguments: [
            (
                .killed(signal: 11, name: "SIGSEGV"), .loading(file: file), "iHD crashed",
                "libva loaded the file (dlopen)",
                ["signal", "loading", "SIGSEGV"]
            ),
            (
                .killed(signal: 6, name: "SIGABRT"), .initializing(file: file), "iHD aborted",
                "it was initialized (vaInitialize)", ["signal", "initializing", "SIGABRT"]
            ),
            (
                .exited(status: 1), .askingEntrypoints(profile: 7), "iHD exited",
                "H264High was queried (vaQueryConfigEntrypoints)",
                ["exit", "asking-entrypoints", "1", "H264High"]
            ),
            (
                .deadline(.milliseconds(2500)), .askingProfiles, "iHD did not answer",
                "its profiles were queried (vaQueryConfigProfiles)", ["deadline", "asking-profiles", "2.5"]
            ),
            (
                .killed(signal: 8, name: "SIGFPE"), .askingAttributes(profile: 7, entrypoint: 8), "iHD crashed",
                "H264High by EncSliceLP was queried (vaGetConfigAttributes)",
                ["signal", "asking-attributes", "SIGFPE", "H264High", "EncSliceLP"]
            ),
            (
                .refused(MediaError(.unavailable, "no", call: "vaInitialize")), .choosingDriver, "iHD failed",
                "libva looked for the driver (vaInitialize)", ["refused", "choosing-driver"]
            ),
            (
                .helper(MediaError(.malformedData, "it lies")), .openingNode, "iHD failed", "the node was opened",
                ["helper", "opening-node"]
            ),
        ] as [(DriverFailure.Cause, DriverStage, String, String, [String])]
    )
    func driverThatFails(
        cause: DriverFailure.Cause,
        stage: DriverStage,
        headline: String,
        stageText: String,
        names: [String]
    ) throws {
        let failure = DriverFailure(
            cause: cause,
            stage: stage,
            file: Self.file,
            log: [
                HelperLogLine(level: "debug", text: "Trying to open it"),
                HelperLogLine(level: nil, text: "the last \u{1B}[2J words"),
            ]
        )
        let failed = ProbeReport.Driver.failed(DriverTrouble(failure, on: facts))
        let report = report([.init(node: node(.accessible), driver: failed)])
        let text = report.text(width: 80)
        #expect(
            text.contains(
                "    driver    \(headline)\n    file      \(Self.file)\n    while     \(stageText)\n    reason  "
            )
        )
        #expect(text.contains("    it said   the last [2J words\n") && !text.contains("Trying"))
        for line in report.text(width: 40).split(separator: "\n") {
            // Commands, which lie deepest, and long words are not broken.
            let isCommand = line.prefix { $0 == " " }.count == 8
            let words = isCommand ? 0 : line.split(separator: " ").count
            #expect(line.count <= 40 || words <= 2, "\(line)")
        }

        let value = try JSONSerialization.jsonObject(with: Data(report.document.text.utf8)) as? [String: Any]
        let node = try #require((value?["renderNodes"] as? [[String: Any]])?.first)
        let refusal = try #require(node["refusal"] as? [String: Any])
        let keys = ["failure", "stage", "signal", "exitStatus", "deadline", "profile", "entrypoint"]
        #expect(keys.compactMap { refusal[$0] is NSNull ? nil : refusal[$0].map { "\($0)" } } == names)
        #expect(refusal["driver"] as? String == "iHD" && node["driver"] is NSNull)
        #expect(refusal["log"] as? [String] == ["Trying to open it", "the last  [2J words"])
    }

    /// Without a stage nobody has asked the driver: it is not the driver's fault.
    @Test func helperThatIsNotThere() throws {
        let error = try #require(throws: MediaError.self) { try HelperLocation.find(at: "/nowhere/helper") }
        let failure = DriverFailure(cause: .helper(error), stage: nil, file: nil, log: [])
        let text = report([.init(node: node(.accessible), driver: .failed(DriverTrouble(failure, on: facts)))]).text(
            width: 80
        )
        #expect(text.contains("    driver    was not asked\n    reason    the helper program (given) cannot be run"))
        #expect(text.contains("export VATOOLBOX_HELPER=/path/to/vatoolbox-helper"))
    }

    @Test func driverThatAnswersAndFailsToEnd() throws {
        let failure = DriverFailure(
            cause: .killed(signal: 11, name: "SIGSEGV"),
            stage: .closing,
            file: Self.file,
            log: []
        )
        let answers = ProbeReport.Driver.answers(driver, trouble: DriverTrouble(failure, on: facts))
        let report = report([.init(node: node(.accessible), driver: answers)])
        let text = report.text(width: 80)
        #expect(
            text.contains("    encodes   H264Main")
                && text.contains("    trouble   iHD crashed\n    while     it was closed")
        )
        let value = try JSONSerialization.jsonObject(with: Data(report.document.text.utf8)) as? [String: Any]
        let node = try #require((value?["renderNodes"] as? [[String: Any]])?.first)
        #expect(node["driver"] is [String: Any] && node["refusal"] is [String: Any])
    }
}

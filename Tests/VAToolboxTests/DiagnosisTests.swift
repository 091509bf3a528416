// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import Testing

@testable import RenderNodes
@testable import VAAPI
@testable import VAToolbox

/// Facts in, cause and remedies out. `scripts/verify environments` sets up what can be set up; here is what needs a GPU,
/// another machine or much patience.
@Suite struct DiagnosisTests {
    private static let intelFile = "/dri/iHD_drv_video.so"

    private func facts(
        _ kernelDriver: String?,
        pci: (UInt16, UInt16)? = nil,
        huC: HuCFirmware? = nil,
        name: String? = nil,
        path: String? = nil,
        installed: Set<String> = [intelFile, "/dri/radeonsi_drv_video.so"]
    ) -> DeviceFacts {
        let settings = DriverSearch.Settings(
            driverName: name,
            driversPath: path,
            defaultFolder: "/dri",
            minorVersion: 17
        )
        return DeviceFacts(
            path: "/dev/dri/renderD128",
            kernelDriver: kernelDriver,
            pci: pci.map { PCIFunction(address: "0000:00:02.0", vendorID: $0.0, deviceID: $0.1) },
            huC: huC,
            search: kernelDriver.map {
                DriverSearch(kernelDriver: $0, settings: settings, exists: installed.contains)
            }
        )
    }

    private func refusal(_ stage: DriverStage?, log: [String] = []) -> DriverFailure {
        DriverFailure(
            cause: .refused(MediaError(.unavailable, "no", call: "vaInitialize")),
            stage: stage,
            file: stage?.file,
            log: log.map { HelperLogLine(level: "error", text: $0) }
        )
    }

    /// A refused start means what the facts make of it.
    @Test func driversThatDoNotStart() {
        let started = refusal(.initializing(file: Self.intelFile))
        let loading = refusal(.loading(file: Self.intelFile), log: ["dlopen of \(Self.intelFile) failed: too short"])
        let other = refusal(
            .loading(file: Self.intelFile),
            log: ["\(Self.intelFile) has no function __vaDriverInit_1_0"]
        )
        let rows: [(DriverFailure, DeviceFacts, MediaError.Cause)] = [
            (started, facts("i915", pci: (0x8086, 0x9A49)), .driverInitializationFailed),
            (started, facts("xe", pci: (0x8086, 0x64A0), name: "iHD"), .gpuNewerThanDriver),
            (started, facts("i915", pci: (0x8086, 0x7D55)), .gpuNewerThanDriver),
            (started, facts("amdgpu", name: "iHD"), .driverForOtherGPU),
            (started, facts("vgem", name: "iHD"), .driverForOtherGPU),
            (started, facts("vgem", installed: ["/dri/vgem_drv_video.so"]), .noVAAPIEncoder),
            (started, facts(nil), .driverInitializationFailed),
            (loading, facts("i915"), .driverUnloadable),
            (loading, facts("i915", installed: []), .driverFileMissing),
            (loading, facts("i915", path: "/nowhere"), .driverPathWrong),
            (loading, facts("i915", name: "typo"), .driverNameWrong),
            (loading, facts("nvidia-drm"), .noVAAPIEncoder),
            (other, facts("i915"), .driverVersionMismatch),
            (refusal(.choosingDriver), facts("i915"), .kernelDriverSilent),
        ]
        for (failure, device, cause) in rows {
            let diagnosis = Diagnosis(failure, on: device)
            #expect(diagnosis.cause == cause, "\(diagnosis)")
            #expect(!diagnosis.remedies.isEmpty, "\(diagnosis)")
        }
    }

    /// The helper that asks a driver and the helper that encodes with it come to the same cause.
    @Test(
        arguments: [
            MediaError.Cause.driverInitializationFailed, .driverUnloadable, .driverVersionMismatch, .kernelDriverSilent,
        ]
    )
    func errorsOfCreation(cause: MediaError.Cause) {
        let error = MediaError(.unavailable, "as libva said", call: "vaInitialize", status: -1, cause: cause)
        let told = error.diagnosed(on: facts("i915"), of: .h264)
        #expect(told.cause == cause && told.message.contains("as libva said") && !told.remedies.isEmpty)
        #expect(
            error.diagnosed(on: facts("i915", installed: []), of: .h264).cause
                == (cause == .kernelDriverSilent ? cause : .driverFileMissing)
        )
        // What was diagnosed is not diagnosed again.
        #expect(told.diagnosed(on: facts("amdgpu"), of: .h264) == told)
        #expect(error.diagnosed(on: nil, of: .h264) == error)
    }

    /// Errors whose cause nobody has named.
    @Test func errorsByTheirCode() {
        let rows: [(MediaError, MediaError.Cause)] = [
            (MediaError(.deadlineExceeded, "no answer"), .driverHung),
            (MediaError(.frameFailed, "its process ended", cause: .helperEnded), .driverCrashed),
            (MediaError(.busy, "at its limit"), .deviceBusy),
            (MediaError(.suspended, "left alone"), .suspended),
            (MediaError(.proofFailed, "the picture is another"), .proofFailed),
            (MediaError(.creationFailed, "no", call: "vaCreateContext", status: 1), .driverCallFailed),
        ]
        for (error, cause) in rows {
            let told = error.diagnosed(on: facts("i915"), of: .h264)
            #expect(told.cause == cause && told.code == error.code && told.message.contains(error.message), "\(told)")
            #expect(!told.remedies.isEmpty, "\(told)")
        }
        #expect(MediaError(.outOfMemory, "no").diagnosed(on: facts("i915"), of: .h264).cause == .other)
    }

    /// Which codec is missing is told by who asked, not by words.
    @Test func theCodecIsThatOfTheEncoder() {
        let device = facts("amdgpu", pci: (0x1002, 0x73BF))
        let error = MediaError(.unsupported, "nothing", given: "Mesa Gallium driver", cause: .driverWithoutCodec)
        let hevc = error.diagnosed(on: device, of: .hevc)
        #expect(hevc.cause == .gpuWithoutEncoder && hevc.message.contains("no profile of HEVC"), "\(hevc)")
        let h264 = error.diagnosed(on: device, of: .h264)
        #expect(h264.cause == .driverWithoutCodec && h264.message.contains("no profile of H.264"), "\(h264)")
    }

    /// What a driver without an encoder means depends on the GPU, and on who built the driver.
    @Test func driversWithoutEncoder() {
        let mesa = "Mesa Gallium driver 23.1.9 for AMD"
        let rows: [(Bool, String, DeviceFacts, MediaError.Cause)] = [
            (false, mesa, facts("amdgpu", pci: (0x1002, 0x73BF)), .driverWithoutCodec),
            (true, mesa, facts("amdgpu", pci: (0x1002, 0x73BF)), .driverWithoutCodec),
            (true, mesa, facts("amdgpu", pci: (0x1002, 0x743F)), .gpuWithoutEncoder),
            (false, mesa, facts("virtio_gpu"), .driverWithoutCodec),
            (true, mesa, facts("virtio_gpu"), .gpuWithoutEncoder),
            (true, mesa, facts("nouveau"), .noVAAPIEncoder),
            (true, "Intel iHD driver", facts("i915"), .driverWithoutCodec),
        ]
        for (decodes, vendor, device, cause) in rows {
            let diagnosis = Diagnosis(lackOfEncoder: decodes, vendor: vendor, on: device)
            #expect(diagnosis.cause == cause && !diagnosis.remedies.isEmpty, "\(diagnosis)")
        }
    }

    /// GPUs without an encoder are told apart by what they are.
    @Test(arguments: [
        ("qxl", "virtual machine"), ("v3d", "V4L2"), ("ast", "display device"), ("vkms", "virtual device"),
    ])
    func whatAKernelDriverIsOf(kernelDriver: String, words: String) {
        let diagnosis = Diagnosis(lackOfEncoder: true, vendor: "Mesa", on: facts(kernelDriver))
        #expect(diagnosis.cause == .noVAAPIEncoder && "\(diagnosis)".contains(words), "\(diagnosis)")
    }

    /// A driver that hangs is another one's if it was asked for by name, and nobody's if it was never reached.
    @Test func driversThatDoNotAnswer() {
        func told(_ stage: DriverStage?, _ device: DeviceFacts) -> Diagnosis {
            let cause = DriverFailure.Cause.deadline(.seconds(5))
            return Diagnosis(DriverFailure(cause: cause, stage: stage, file: stage?.file, log: []), on: device)
        }
        let stage = DriverStage.initializing(file: Self.intelFile)
        #expect(told(stage, facts("i915")).cause == .driverHung)
        #expect(told(stage, facts("amdgpu", name: "iHD")).cause == .driverForOtherGPU)
        let early = told(nil, facts("i915"))
        #expect(early.cause == .helperFailed && !early.remedies.isEmpty)
        let both = facts("i915", installed: [Self.intelFile, "/dri/i965_drv_video.so"])
        #expect(told(stage, both).remedies.contains { $0.contains("LIBVA_DRIVER_NAME=i965") })
    }

    /// Firmware is suspected where it can be the reason, and what the kernel says is told as what it is.
    @Test func firmware() throws {
        let error = MediaError(.unsupported, "no rate control", allowed: "modes CQP", cause: .firmwareMissing)
        #expect(error.diagnosed(on: facts("amdgpu"), of: .h264).cause == .rateControlMissing)
        #expect(error.diagnosed(on: facts("i915", huC: .running), of: .h264).cause == .rateControlMissing)
        let unknown = error.diagnosed(on: facts("xe"), of: .h264)
        #expect(unknown.cause == .firmwareMissing && unknown.message.contains("is unknown"))
        let none = error.diagnosed(on: facts("i915", huC: .unavailable(code: 65)), of: .h264)
        #expect(none.cause == .firmwareMissing && none.message.contains("errno 65"))
        #expect(none.remedies.contains { $0.contains("enable_guc=3") })
        #expect(Diagnosis(firmwareOf: facts("amdgpu")) == nil)
    }

    /// A name that two layers have to agree about.
    @Test func descriptorsAreLackedByOneName() {
        #expect(MediaError.Cause.outOfDescriptors.rawValue == NodeRefusal.Cause.outOfDescriptors.rawValue)
    }

    /// A GPU that failed and one that never was tried: both are told when a GPU is required.
    @Test func theLastErrorTellsOfAll() {
        var candidate = EncoderSelection.Candidate(factory: Self.NoFactory(), reason: "asked for")
        candidate.facts = facts("i915")
        let rejection = EncoderDescription.Rejection(
            name: "/dev/dri/renderD129",
            Diagnosis(.other, "it is closed", remedies: ["open it"])
        )
        var machine = SessionMachine(
            configuration: EncoderConfiguration(width: 64, height: 64),
            selection: EncoderSelection(candidates: [candidate], rejected: [rejection]),
            options: SessionOptions(),
            now: .now
        )
        _ = machine.handle(.start(1), at: .now)
        let error = MediaError(.unsupported, "no such thing", cause: .rateControlMissing)
        let actions = machine.handle(.instance(0, .failed(error)), at: .now)
        let ends = actions.compactMap { action in
            if case .resume(1, .failure(let error)) = action { error } else { nil }
        }
        #expect(ends.count == 1 && ends.first?.cause == .rateControlMissing)
        #expect(ends.first?.message.contains("renderD129: it is closed") == true)
        #expect(ends.first?.remedies.contains("open it") == true && (ends.first?.remedies.count ?? 0) > 1)
    }

    private struct NoFactory: EncoderFactory {
        let identity = EncoderIdentity(name: "gpu", codec: .h264, device: "/dev/dri/renderD128")
        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            throw MediaError(.unsupported, "never asked")
        }
    }
}

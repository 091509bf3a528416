// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
import HardwareDisplay
package import MediaTypes
import RenderNodes
import VAAPI

extension Diagnosis {
    /// Diagnoses the error of a GPU encoder or decoder, from its creation, its test or its work.
    ///
    /// An error that already has remedies was diagnosed before and is returned unchanged.
    ///
    /// - Parameter codec: The codec; `nil` if nothing was requested from the driver.
    package init(_ error: MediaError, on device: DeviceFacts, of codec: VideoCodec?) {
        guard error.remedies.isEmpty else {
            self.init(error.cause ?? .other, error.message, remedies: error.remedies)
            return
        }
        if let start = error.cause.flatMap(DriverStartFailure.init) {
            let name = device.driverName.map { "the driver \($0)" } ?? "the driver"
            self.init(
                start: start,
                of: device.search?.installed.first,
                "\(name) did not start: \(error.message)",
                on: device
            )
            return
        }
        switch error.cause {
        case .helperEnded?:
            self.init(
                misbehaviour: .driverCrashed,
                of: nil,
                "the driver ended its helper process: \(error.message)",
                on: device
            )
        case .driverHung?:
            self.init(misbehaviour: .driverHung, of: nil, "the driver does not answer: \(error.message)", on: device)
        case .driverCallFailed?:
            self.init(.driverCallFailed, error.message, remedies: device.remediesForMisbehaviour(of: nil))
        case .driverWithoutCodec? where device.isForDecoding:
            self.init(lackOfDecoder: error, on: device)
        case .driverWithoutCodec?, .gpuWithoutEncoder?:
            self.init(
                lackOfEncoder: error.cause == .gpuWithoutEncoder,
                of: codec ?? .h264,
                vendor: error.given ?? "",
                on: device
            )
        case .firmwareMissing?, .rateControlMissing?:
            self.init(rateControl: error, on: device)
        case let cause?:
            self.init(cause, error.message, remedies: Self.remedies(for: cause, error, on: device))
        case nil:
            self.init(unexplained: error, on: device)
        }
    }

    /// Diagnoses an error without a cause, from its code and its call.
    private init(unexplained error: MediaError, on device: DeviceFacts) {
        switch error.code {
        case .deadlineExceeded:
            self.init(misbehaviour: .driverHung, of: nil, "the driver does not answer: \(error.message)", on: device)
        case .busy:
            self.init(
                .deviceBusy,
                error.message,
                remedies: ["wait until a session on the GPU ends, or use another GPU: vatoolbox probe"]
                    + device.elsewhere
            )
        case .suspended:
            self.init(
                .suspended,
                error.message,
                remedies: ["see the failure, and when the GPU is tried again: vatoolbox probe"]
                    + device.remediesForMisbehaviour(of: nil)
            )
        case .proofFailed:
            self.init(
                .proofFailed,
                error.message,
                remedies: [
                    device.isForDecoding
                        ? "see which tests the GPU passes: vatoolbox probe"
                        : "see which combinations work on the GPU: vatoolbox probe --exhaustive"
                ]
                    + device.remediesForMisbehaviour(of: nil)
            )
        default:
            let isDriverCall = error.call?.hasPrefix("va") == true
            self.init(
                isDriverCall ? .driverCallFailed : .other,
                error.message,
                remedies: isDriverCall ? device.remediesForMisbehaviour(of: nil) : []
            )
        }
    }

    private static func remedies(
        for cause: MediaError.Cause,
        _ error: MediaError,
        on device: DeviceFacts
    ) -> [String] {
        switch cause {
        case .sizeOutOfRange where !device.isForDecoding:
            ["scale the pictures to a supported size: vatoolbox encode --size 1280x720 ..."] + device.elsewhere
        case .profileMissing:
            ["let the encoder choose the profile: vatoolbox encode without --profile"] + device.elsewhere
        case .entrypointMissing:
            ["let the driver choose the entrypoint: vatoolbox encode --low-power auto ..."] + device.fullBuild
        case .formatMissing, .sizeOutOfRange: device.elsewhere
        case .outOfDescriptors: ["allow more open files: ulimit -n 65536"]
        default: remedies(forNode: cause, on: device)
        }
    }

    /// Returns the remedies for a node that a helper could not open. A helper sends no remedies; this process finds
    /// them if it is refused for the same reason.
    private static func remedies(forNode cause: MediaError.Cause, on device: DeviceFacts) -> [String] {
        guard NodeRefusal.Cause(rawValue: cause.rawValue) != nil,
            case .refused(let refusal)? = RenderNodeSurvey().node(named: device.path)?.access,
            refusal.cause.rawValue == cause.rawValue
        else { return [] }
        return refusal.remedies
    }
}

// MARK: - Encoders that a driver does not list

extension Diagnosis {
    /// Diagnoses a driver that lists no encoder of the codec: either the GPU has none, or the driver was built without
    /// it.
    ///
    /// - Parameters:
    ///   - decodes: Whether the driver lists the codec for decoding.
    ///   - codec: The codec. The known builds without an encoder lack H.264, which every GPU with an encoder supports.
    ///   - vendor: The driver's vendor string.
    package init(lackOfEncoder decodes: Bool, of codec: VideoCodec = .h264, vendor: String, on device: DeviceFacts) {
        let found =
            "the driver (\(vendor)) lists "
            + (decodes ? "\(codec.name) for decoding only" : "no profile of \(codec.name)")
        let isMesa = vendor.contains("Mesa")
        if let kernelDriver = device.kernelDriver,
            let reason = KernelDriversWithoutVAAPI.reason(kernelDriver, isForDecoding: false)
        {
            self.init(
                .noVAAPIEncoder,
                "\(found), and the kernel driver is \(kernelDriver): \(reason)",
                remedies: device.elsewhere
            )
        } else if let pci = device.pci, AMDWithoutEncoder.contains(pci) {
            self.init(
                .gpuWithoutEncoder,
                "\(found), and the GPU, \(device.gpuName) (Navi 24), has no encoder",
                remedies: device.elsewhere
            )
        } else if codec == .hevc {
            self.init(
                .gpuWithoutEncoder,
                "\(found): the GPU has no encoder for it, or this build of the driver omits it",
                remedies: (device.isIntel ? device.fullBuild : []) + device.elsewhere
            )
        } else if isMesa, !decodes || device.isAMD {
            self.init(
                .driverWithoutCodec,
                "\(found): this build of Mesa omits the codec, as some distributions do because of patents. All AMD "
                    + "GPUs with a video encoder support H.264, so the GPU is probably not the reason",
                remedies: Self.completeBuildsOfMesa
            )
        } else if device.isIntel {
            self.init(
                .driverWithoutCodec,
                "\(found): the GPU has an encoder, but the driver's free build does not support it on GPUs before Skylake",
                remedies: device.fullBuild + device.elsewhere
            )
        } else {
            self.init(.gpuWithoutEncoder, "\(found): the GPU has no encoder for it", remedies: device.elsewhere)
        }
    }
}

extension Diagnosis {
    fileprivate static let completeBuildsOfMesa = [
        "on Debian and Ubuntu, install the distribution's build: sudo apt-get install --reinstall mesa-va-drivers",
        "on Fedora, with RPM Fusion: sudo dnf swap mesa-va-drivers mesa-va-drivers-freeworld",
        "on openSUSE, with Packman: sudo zypper install --from packman Mesa-libva",
        "in a container, use an image based on Debian or Ubuntu, whose drivers have the codec",
    ]

    /// Diagnoses a driver that lists no decoder for a stream.
    ///
    /// - Parameter error: Names the driver and what it lacks; `allowed` is what it decodes.
    fileprivate init(lackOfDecoder error: MediaError, on device: DeviceFacts) {
        let decodes = error.allowed ?? "nothing"
        // Mesa is the driver that distributions build without H.264 and HEVC. All AMD GPUs of this century decode H.264.
        let omits = error.message.contains("Mesa") && !decodes.contains("H264") && !decodes.contains("HEVC")
        let guess =
            omits
            ? "this build of Mesa omits the codecs, as some distributions do because of patents"
            : "it decodes \(decodes)"
        self.init(
            .driverWithoutCodec,
            "\(error.message): \(guess)",
            remedies: (omits ? Self.completeBuildsOfMesa : []) + device.elsewhere
        )
    }
}

extension DeviceFacts {
    /// The remedy of installing Debian's build of the Intel driver with all encoders.
    fileprivate var fullBuild: [String] {
        guard isIntel else { return [] }
        return [
            "install the driver's full build (Debian's non-free): sudo apt-get install intel-media-va-driver-non-free"
        ]
    }
}

// MARK: - Rate control and firmware

extension Diagnosis {
    private init(rateControl error: MediaError, on device: DeviceFacts) {
        if error.cause == .firmwareMissing, let firmware = Diagnosis(firmwareOf: device) {
            self = firmware
            explanation = "\(error.message): \(firmware.explanation)"
        } else {
            self.init(
                .rateControlMissing,
                error.message,
                remedies: ["use a mode that the driver has, such as constant quantizers: vatoolbox encode --qp 26 ..."]
                    + device.fullBuild + device.elsewhere
            )
        }
    }

    /// Diagnoses an Intel low-power encoder that lists only constant quantizers: its firmware, or the known obstacles
    /// to it.
    ///
    /// - Returns: `nil` if the GPU is not from Intel, or if the kernel reports that the firmware runs.
    package init?(firmwareOf device: DeviceFacts) {
        guard device.isIntel, device.huC != .running else { return nil }
        let known =
            switch device.huC {
            case .notRunning: "the kernel reports that the firmware is not running"
            case .unavailable(let code): "the kernel reports that it has no firmware (errno \(code))"
            case .running, nil: "whether the firmware is running is unknown"
            }
        self.init(
            .firmwareMissing,
            "the low-power encoder lists constant quantizers only, which is typical when Intel's HuC firmware is missing; "
                + known,
            remedies: [
                "install the firmware on the host, then reboot: sudo apt-get install firmware-misc-nonfree",
                "let i915 load it, on the host (enable_guc=2 before Tiger Lake): "
                    + "echo 'options i915 enable_guc=3' | sudo tee /etc/modprobe.d/i915.conf && sudo update-initramfs -u",
                "check the result on the host: sudo dmesg | grep -i huc",
                "use constant quantizers: vatoolbox encode --qp 26 ...",
            ]
        )
    }
}

extension MediaError {
    /// Returns the error of an encoder or decoder for that codec with its diagnosis on that GPU.
    package func diagnosed(on device: DeviceFacts?, of codec: VideoCodec) -> MediaError {
        guard let device else { return self }
        let diagnosis = Diagnosis(self, on: device, of: codec)
        var error = self
        error.message = diagnosis.explanation
        error.cause = diagnosis.cause
        error.remedies = diagnosis.remedies
        return error
    }
}

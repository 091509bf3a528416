// SPDX-License-Identifier: GPL-2.0-or-later

import HardwareDisplay
package import HelperIPC
import MediaTypes
import VAAPI

// MARK: - Drivers inspected in a helper process

extension Diagnosis {
    /// Diagnoses a driver that failed to respond in a helper process, or failed afterwards.
    package init(_ failure: DriverFailure, on device: DeviceFacts) {
        switch failure.cause {
        case .refused(let error):
            switch failure.stage {
            case .choosingDriver: self.init(start: .noName, of: nil, failure.sentence, on: device)
            case .loading(let file):
                let start = DriverStartFailure(.loading(file: file), errors: failure.log.map(\.text))
                self.init(start: start, of: file, failure.sentence, on: device)
            case .initializing(let file):
                self.init(start: .refused, of: file, failure.sentence, on: device)
            default:
                self.init(error, on: device, of: nil)
                explanation = failure.sentence
            }
        case .killed, .exited:
            guard failure.stage != nil else {
                self.init(.helperMismatch, failure.sentence, remedies: device.helper.remediesForAnother)
                return
            }
            if case .loading(let file) = failure.stage, case .killed(_, "SIGBUS") = failure.cause {
                // The driver touched a page beyond the end of the file: the file is shorter than its headers declare.
                self.init(start: .unloadable, of: file, failure.sentence, on: device)
            } else {
                self.init(misbehaviour: .driverCrashed, of: failure.file, failure.sentence, on: device)
            }
        case .deadline:
            guard failure.stage != nil else {
                self.init(.helperFailed, failure.sentence, remedies: device.helper.remediesForAnother)
                return
            }
            self.init(misbehaviour: .driverHung, of: failure.file, failure.sentence, on: device)
        case .helper(let error):
            // A driver can close the helper's connection.
            let cause = error.cause ?? (failure.stage == nil ? .helperFailed : .driverCrashed)
            self.init(cause, failure.sentence, remedies: error.remedies)
            if remedies.isEmpty {
                remedies =
                    failure.stage == nil
                    ? device.helper.remediesForAnother : device.remediesForMisbehaviour(of: failure.file)
            }
        }
    }
}

// MARK: - Drivers that do not start

extension Diagnosis {
    /// Diagnoses a driver that did not start.
    ///
    /// - Parameters:
    ///   - start: The failure that libva reported, regardless of the GPU.
    ///   - file: The driver file, if it is known. libva continues with other drivers if a file does not exist.
    ///   - sentence: The description of the failure.
    init(start: DriverStartFailure, of file: String?, _ sentence: String, on device: DeviceFacts) {
        let search = device.search
        let file = file.flatMap { search?.installed.contains($0) == false ? nil : $0 } ?? search?.installed.first
        if start == .noName {
            self.init(
                .kernelDriverSilent,
                "\(sentence). The kernel driver does not report which VA-API driver it needs: the GPU was removed or is lost",
                remedies: [
                    "check whether the kernel has lost the GPU: sudo dmesg | grep -iE 'gpu hang|reset|i915|xe|amdgpu'",
                    "create the container again: device numbers may have changed since it was created",
                ] + device.elsewhere
            )
        } else if let search, search.installed.isEmpty {
            self.init(withoutDriver: search, on: device)
        } else if let search, let name = search.forcedName, search.isForOtherGPU {
            self.init(otherGPU: name, search, sentence, on: device)
        } else if let search, search.forcedName == nil,
            let lack = device.lackOfVAAPI(search.kernelDriver, sentence)
        {
            self = lack
        } else if start == .refused {
            self.init(refusedStartOf: file, sentence, on: device)
        } else if start == .otherVersion {
            self.init(
                .driverVersionMismatch,
                "\(sentence). The file is not a driver for libva 2.\(search?.libVAVersion ?? 0), which this program uses",
                remedies: Self.reinstall(search, "install libva and the driver from the same release")
                    + ["list the functions of the file: nm -D \(file ?? "FILE") | grep vaDriverInit"]
            )
        } else {
            self.init(
                .driverUnloadable,
                "\(sentence). The file exists but cannot be loaded: it is damaged, built for another machine, or a library "
                    + "that it needs is missing",
                remedies: ["list the missing libraries: ldd \(file ?? "FILE") | grep 'not found'"]
                    + Self.reinstall(search, "reinstall the driver and the libraries that it needs")
                    + device.withoutSandbox
            )
        }
    }

    private static func reinstall(_ search: DriverSearch?, _ words: String) -> [String] {
        (search?.package).map { ["\(words): sudo apt-get install --reinstall \($0) libva2 libva-drm2"] } ?? []
    }

    /// Diagnoses a missing driver file.
    private init(withoutDriver search: DriverSearch, on device: DeviceFacts) {
        let found = "no driver file was found: libva looked for \(search.files.joined(separator: ", "))"
        if search.forcedName == nil, let lack = device.lackOfVAAPI(search.kernelDriver, found) {
            self = lack
        } else if let name = search.forcedName, !search.fitting.contains(name) {
            self.init(
                .driverNameWrong,
                "\(found), because LIBVA_DRIVER_NAME is \(name)",
                remedies: search.remedies
            )
        } else if let path = search.forcedPath {
            self.init(
                .driverPathWrong,
                "\(found), because LIBVA_DRIVERS_PATH is \(path)",
                remedies: search.remedies
            )
        } else {
            self.init(.driverFileMissing, found, remedies: search.remedies)
            if remedies.isEmpty { remedies = ["find the GPU and its kernel driver: lspci -nnk -d ::03xx"] }
        }
    }

    /// Diagnoses a driver that was forced on a GPU that it does not support.
    private init(otherGPU name: String, _ search: DriverSearch, _ sentence: String, on device: DeviceFacts) {
        let fitting = search.fitting.joined(separator: " and ")
        self.init(
            .driverForOtherGPU,
            "LIBVA_DRIVER_NAME selects \(name), but the GPU is \(device.gpuName) with the kernel driver "
                + "\(search.kernelDriver), which needs \(fitting): \(sentence)",
            remedies: ["let libva choose the driver instead of \(name): unset LIBVA_DRIVER_NAME"]
                + (search.package.map { ["install the driver for this GPU: sudo apt-get install \($0)"] } ?? [])
        )
    }

    /// Diagnoses a driver that was loaded and refused to start.
    private init(refusedStartOf file: String?, _ sentence: String, on device: DeviceFacts) {
        let others = device.otherDrivers(than: file.flatMap(DriverDescription.name(ofFile:)) ?? device.driverName)
        let kernelLog = "look at the kernel log: sudo dmesg | grep -iE 'drm|i915|xe|amdgpu'"
        if device.isIntel, let pci = device.pci, let family = IntelFamily.of(pci) {
            self.init(
                .gpuNewerThanDriver,
                "\(sentence). The GPU, \(device.gpuName), belongs to the family \(family.name), which Intel's driver "
                    + "supports since release \(family.release): the installed driver is probably older",
                remedies: [
                    "check the driver's version: strings \(file ?? "FILE") | grep 'iHD driver'",
                    "install \(family.release) or newer, from a newer release of the distribution or from Intel: "
                        + "https://github.com/intel/media-driver/releases",
                    "in a container, build the image on a newer Debian: docker build --build-arg BASE=debian:RELEASE-slim ...",
                    kernelLog,
                ] + others
            )
            return
        }
        var remedies = others + [kernelLog]
        if device.isAMD {
            remedies.append(
                "install a newer Mesa if the GPU was released after it: sudo apt-get install mesa-va-drivers"
            )
        }
        self.init(
            .driverInitializationFailed,
            sentence,
            remedies: remedies + ["get more messages from libva: LIBVA_MESSAGING_LEVEL=2 vatoolbox probe"]
                + device.withoutSandbox
        )
    }
}

// MARK: - Drivers that misbehave

extension Diagnosis {
    /// Diagnoses a driver that crashed, ended its process, or does not respond.
    init(
        misbehaviour cause: MediaError.Cause,
        of file: String?,
        _ sentence: String,
        on device: DeviceFacts
    ) {
        if let search = device.search, let name = search.forcedName, search.isForOtherGPU {
            self.init(otherGPU: name, search, sentence, on: device)
        } else {
            self.init(cause, sentence, remedies: device.remediesForMisbehaviour(of: file))
        }
    }
}

extension DeviceFacts {
    /// Returns the remedies for a driver that crashes or hangs.
    func remediesForMisbehaviour(of file: String?) -> [String] {
        let name = file.flatMap(DriverDescription.name(ofFile:)) ?? driverName
        let update = (search?.package).map { ["update the driver: sudo apt-get install --only-upgrade \($0)"] } ?? []
        return otherDrivers(than: name) + update
            + ["check whether the kernel has lost the GPU: sudo dmesg | grep -iE 'gpu hang|reset|i915|xe|amdgpu'"]
            + withoutSandbox + elsewhere
    }

    /// The remedy of running without the sandbox. The helper's sandbox may block something that an untested driver
    /// needs.
    var withoutSandbox: [String] {
        isSandboxed ? ["check whether the sandbox is the reason: VATOOLBOX_SANDBOX=off vatoolbox probe"] : []
    }
}

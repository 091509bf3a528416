// SPDX-License-Identifier: GPL-2.0-or-later

extension MediaError {
    /// What stands behind an error or a refusal, as a stable name for programs; `docs/causes.md` has what to do about
    /// each. An error's code says what kind of error it is, its cause what has to change.
    ///
    /// Names may be added, so a `switch` over causes needs a default. Those of render nodes (`permission-denied`,
    /// `device-not-allowed` and others) are `NodeRefusal.Cause`'s.
    public struct Cause: Sendable, Hashable, RawRepresentable, CustomStringConvertible {
        /// The stable name.
        public let rawValue: String

        /// Makes a cause of that stable name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }
    }
}

// MARK: - Drivers that do not start

extension MediaError.Cause {
    /// The GPU's kernel driver is one for which no VA-API driver encodes.
    public static let noVAAPIEncoder = Self(rawValue: "no-va-api-encoder")
    /// The kernel's driver does not answer libva: the GPU was taken away, or is lost.
    public static let kernelDriverSilent = Self(rawValue: "kernel-driver-silent")
    /// There is no file of a driver for the GPU.
    public static let driverFileMissing = Self(rawValue: "driver-file-missing")
    /// `LIBVA_DRIVER_NAME` names a driver of which there is no file.
    public static let driverNameWrong = Self(rawValue: "driver-name-wrong")
    /// `LIBVA_DRIVERS_PATH` names folders that hold no driver of the GPU.
    public static let driverPathWrong = Self(rawValue: "driver-path-wrong")
    /// `LIBVA_DRIVER_NAME` names a driver of another GPU.
    public static let driverForOtherGPU = Self(rawValue: "driver-for-other-gpu")
    /// The file cannot be loaded: it is damaged, for another machine, or lacks a library.
    public static let driverUnloadable = Self(rawValue: "driver-unloadable")
    /// The file can be loaded, and is no driver for this version of libva.
    public static let driverVersionMismatch = Self(rawValue: "driver-version-mismatch")
    /// The driver was loaded and refused to start.
    public static let driverInitializationFailed = Self(rawValue: "driver-initialization-failed")
    /// The driver refused to start on a GPU that came out after the first versions of it: it may be too old.
    public static let gpuNewerThanDriver = Self(rawValue: "gpu-newer-than-driver")
    /// The node is no device of the kernel's graphics drivers.
    public static let notAGPU = Self(rawValue: "not-a-gpu")
}

// MARK: - Drivers that misbehave

extension MediaError.Cause {
    /// The driver ended its process by a signal, or by leaving it.
    public static let driverCrashed = Self(rawValue: "driver-crashed")
    /// The driver did not answer in time.
    public static let driverHung = Self(rawValue: "driver-hung")
    /// A call of the driver failed.
    public static let driverCallFailed = Self(rawValue: "driver-call-failed")
}

// MARK: - What a driver does not have

extension MediaError.Cause {
    /// The driver lists nothing of the codec: it was built without it, though the GPU may have it.
    public static let driverWithoutCodec = Self(rawValue: "driver-without-codec")
    /// The driver lists the codec for decoding only: the GPU has no encoder of it.
    public static let gpuWithoutEncoder = Self(rawValue: "gpu-without-encoder")
    /// The entrypoint that was asked for is not listed.
    public static let entrypointMissing = Self(rawValue: "entrypoint-missing")
    /// The profile that was asked for is not listed.
    public static let profileMissing = Self(rawValue: "profile-missing")
    /// The rate control that was asked for is not listed.
    public static let rateControlMissing = Self(rawValue: "rate-control-missing")
    /// Only constant quantizers are listed for Intel's low-power encoder, which mostly lacks its HuC firmware then.
    public static let firmwareMissing = Self(rawValue: "huc-suspected")
    /// The size is beyond what the driver encodes.
    public static let sizeOutOfRange = Self(rawValue: "size-out-of-range")
    /// The driver does not encode the format of the pictures.
    public static let formatMissing = Self(rawValue: "format-missing")
    /// This version of the package does not encode the codec on GPUs.
    public static let codecNotInThisVersion = Self(rawValue: "codec-not-in-this-version")
}

// MARK: - Helper processes

extension MediaError.Cause {
    /// The program of helper processes is not there, or cannot be run.
    public static let helperMissing = Self(rawValue: "helper-missing")
    /// The program of helper processes is of another version, or is another program.
    public static let helperMismatch = Self(rawValue: "helper-mismatch")
    /// The helper process ended by itself, by a signal or with a status, and what worked in it with it.
    public static let helperEnded = Self(rawValue: "helper-ended")
    /// The process or the system has no descriptor left.
    public static let outOfDescriptors = Self(rawValue: "out-of-descriptors")
    /// The helper process did not do what it is for.
    public static let helperFailed = Self(rawValue: "helper-failed")
}

// MARK: - Selection

extension MediaError.Cause {
    /// A render node that was asked for is not there.
    public static let unknownDevice = Self(rawValue: "unknown-device")
    /// The device works for as many sessions as it may.
    public static let deviceBusy = Self(rawValue: "busy")
    /// The device failed repeatedly, and is left alone for a time.
    public static let suspended = Self(rawValue: "suspended")
    /// A short test encode on the device failed, or did not come out right.
    public static let proofFailed = Self(rawValue: "proof-failed")
    /// Anything else; the message says what.
    public static let other = Self(rawValue: "other")
}

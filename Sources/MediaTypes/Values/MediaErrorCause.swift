// SPDX-License-Identifier: GPL-2.0-or-later

extension MediaError {
    /// The cause of an error, as a stable name for programs; `docs/causes.md` lists the remedies. The code of an error
    /// is its kind; the cause is what has to be fixed.
    ///
    /// Names may be added, so a `switch` over causes needs a default. The causes of render nodes (`permission-denied`,
    /// `device-not-allowed` and others) are defined by `NodeRefusal.Cause`.
    public struct Cause: Sendable, Hashable, RawRepresentable, CustomStringConvertible {
        /// The stable name.
        public let rawValue: String

        /// Makes a cause with the given stable name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }
    }
}

// MARK: - Drivers that do not start

extension MediaError.Cause {
    /// No VA-API driver can encode with the GPU's kernel driver.
    public static let noVAAPIEncoder = Self(rawValue: "no-va-api-encoder")
    /// No VA-API driver can decode with the GPU's kernel driver.
    public static let noVAAPIDecoder = Self(rawValue: "no-va-api-decoder")
    /// The kernel driver does not answer libva: the GPU was removed or is lost.
    public static let kernelDriverSilent = Self(rawValue: "kernel-driver-silent")
    /// There is no driver file for the GPU.
    public static let driverFileMissing = Self(rawValue: "driver-file-missing")
    /// `LIBVA_DRIVER_NAME` names a driver that has no file.
    public static let driverNameWrong = Self(rawValue: "driver-name-wrong")
    /// `LIBVA_DRIVERS_PATH` names folders that contain no driver for the GPU.
    public static let driverPathWrong = Self(rawValue: "driver-path-wrong")
    /// `LIBVA_DRIVER_NAME` names a driver of another GPU.
    public static let driverForOtherGPU = Self(rawValue: "driver-for-other-gpu")
    /// The file cannot be loaded: it is damaged, built for another machine, or a library that it needs is missing.
    public static let driverUnloadable = Self(rawValue: "driver-unloadable")
    /// The file can be loaded but is not a driver for this version of libva.
    public static let driverVersionMismatch = Self(rawValue: "driver-version-mismatch")
    /// The driver was loaded but failed to initialize.
    public static let driverInitializationFailed = Self(rawValue: "driver-initialization-failed")
    /// The driver failed to initialize on a GPU that only its newer releases support: it may be too old.
    public static let gpuNewerThanDriver = Self(rawValue: "gpu-newer-than-driver")
    /// The node does not belong to a graphics driver of the kernel.
    public static let notAGPU = Self(rawValue: "not-a-gpu")
}

// MARK: - Drivers that misbehave

extension MediaError.Cause {
    /// The driver ended its process, by a signal or by exiting.
    public static let driverCrashed = Self(rawValue: "driver-crashed")
    /// The driver did not answer in time.
    public static let driverHung = Self(rawValue: "driver-hung")
    /// A call of the driver failed.
    public static let driverCallFailed = Self(rawValue: "driver-call-failed")
}

// MARK: - Missing driver features

extension MediaError.Cause {
    /// The driver lists no profile of the codec: it was built without it, although the GPU may support it.
    public static let driverWithoutCodec = Self(rawValue: "driver-without-codec")
    /// The driver lists the codec for decoding only: the GPU has no encoder for it.
    public static let gpuWithoutEncoder = Self(rawValue: "gpu-without-encoder")
    /// The requested entrypoint is not listed.
    public static let entrypointMissing = Self(rawValue: "entrypoint-missing")
    /// The requested profile is not listed.
    public static let profileMissing = Self(rawValue: "profile-missing")
    /// The requested rate control mode is not listed.
    public static let rateControlMissing = Self(rawValue: "rate-control-missing")
    /// The driver lists only constant quantizers for Intel's low-power encoder, usually because the HuC firmware is
    /// missing.
    public static let firmwareMissing = Self(rawValue: "huc-suspected")
    /// The size is outside the driver's limits.
    public static let sizeOutOfRange = Self(rawValue: "size-out-of-range")
    /// The driver does not encode the format of the pictures.
    public static let formatMissing = Self(rawValue: "format-missing")
    /// This version of the package does not encode the codec on GPUs.
    public static let codecNotInThisVersion = Self(rawValue: "codec-not-in-this-version")
}

// MARK: - Helper processes

extension MediaError.Cause {
    /// The helper program was not found or cannot be run.
    public static let helperMissing = Self(rawValue: "helper-missing")
    /// The helper program has another version, or is another program.
    public static let helperMismatch = Self(rawValue: "helper-mismatch")
    /// The helper process ended, by a signal or with a status, together with the encoders in it.
    public static let helperEnded = Self(rawValue: "helper-ended")
    /// The process or the system has no descriptor left.
    public static let outOfDescriptors = Self(rawValue: "out-of-descriptors")
    /// The helper process did not work.
    public static let helperFailed = Self(rawValue: "helper-failed")
}

// MARK: - Selection

extension MediaError.Cause {
    /// A requested render node does not exist.
    public static let unknownDevice = Self(rawValue: "unknown-device")
    /// The device has reached its limit of sessions.
    public static let deviceBusy = Self(rawValue: "busy")
    /// The device failed repeatedly and is suspended for a while.
    public static let suspended = Self(rawValue: "suspended")
    /// A short test encode on the device failed or had a wrong result.
    public static let proofFailed = Self(rawValue: "proof-failed")
    /// Another cause, which the message explains.
    public static let other = Self(rawValue: "other")
}

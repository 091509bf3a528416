// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// The machine, and what is installed on it.
    package struct Environment: Codable, Sendable, Hashable {
        package var processor: Processor
        /// Main memory in bytes.
        package var memoryBytes: Int
        /// The distribution: `Debian GNU/Linux 12 (bookworm)`.
        package var operatingSystem: String
        /// The kernel's release: `6.12.9-amd64`.
        package var kernel: String
        /// What the program runs in, if it is not the bare machine: `docker`, `kvm`.
        package var containment: [String] = []
        package var gpus: [GPU]
        /// Libraries and programs that take part, with their versions.
        package var components: [Component]
        /// Environment variables that change what is measured, as `LIBVA_DRIVER_NAME`.
        package var variables: [String: String] = [:]
        /// How many tasks wanted a processor before it began: the kernel's average over one minute.
        package var loadAverage: Double?
        /// What could not be found out, and why.
        package var gaps: [String] = []
    }

    /// The CPU.
    package struct Processor: Codable, Sendable, Hashable {
        /// As the kernel names it.
        package var model: String
        /// Physical cores; `nil` where the kernel does not tell.
        package var cores: Int?
        /// Logical processors that are online.
        package var logicalProcessors: Int
        /// How many of them this process may use: its affinity, and what a control group grants.
        package var usableProcessors: Double
        /// The frequency governor: `performance`, `powersave`; `nil` where there is none to read.
        package var governor: String?
        /// The highest frequency in hertz; `nil` where the kernel does not tell.
        package var maximumFrequency: Double?
        /// The microcode's revision; `nil` where the kernel does not tell.
        package var microcode: String?
    }

    /// A render node.
    package struct GPU: Codable, Sendable, Hashable {
        /// The device file: `/dev/dri/renderD128`.
        package var node: String
        /// The card's name where it is known.
        package var name: String?
        /// Vendor and device on the bus: `8086:56a0`.
        package var busIdentity: String?
        /// The kernel's driver: `i915`, `xe`, `amdgpu`.
        package var kernelDriver: String?
        /// How libva's driver calls itself, with its version.
        package var driver: String?
        /// Firmware by name, where it can be read: `["guc": "70.20.0"]`.
        package var firmware: [String: String] = [:]
        /// Whether there is no such device and a program only pretends that there is one.
        package var isFake = false
    }

    /// A library or a program.
    package struct Component: Codable, Sendable, Hashable {
        /// `x264`, `libva`, `ffmpeg`.
        package var name: String
        package var version: String
        /// How it was built or where it was found, if that changes what is measured.
        package var detail: String?
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// The machine, and what is installed on it.
    public struct Environment: Codable, Sendable, Hashable {
        /// The CPU.
        public var processor: Processor
        /// Main memory in bytes.
        public var memoryBytes: Int
        /// The distribution: `Debian GNU/Linux 12 (bookworm)`.
        public var operatingSystem: String
        /// The kernel's release: `6.12.9-amd64`.
        public var kernel: String
        /// What the program runs in, if it is not the bare machine: `docker`, `kvm`.
        @NothingIfAbsent public var containment: [String] = []
        /// Every render node that was found, also those that no encoder of the plan uses.
        public var gpus: [GPU]
        /// Libraries and programs that take part, with their versions.
        public var components: [Component]
        /// Environment variables that change what is measured, as `LIBVA_DRIVER_NAME`.
        @NothingIfAbsent public var variables: [String: String] = [:]
        /// How many tasks wanted a processor before it began: the kernel's average over one minute.
        public var loadAverage: Double?
        /// What could not be found out, and why.
        @NothingIfAbsent public var gaps: [String] = []
    }

    /// The CPU.
    public struct Processor: Codable, Sendable, Hashable {
        /// As the kernel names it.
        public var model: String
        /// Physical cores; `nil` where the kernel does not tell.
        public var cores: Int?
        /// Logical processors that are online.
        public var logicalProcessors: Int
        /// How many of them this process may use: its affinity, and what a control group grants.
        public var usableProcessors: Double
        /// The frequency governor: `performance`, `powersave`; `nil` where there is none to read.
        public var governor: String?
        /// The highest frequency in hertz; `nil` where the kernel does not tell.
        public var maximumFrequency: Double?
        /// The microcode's revision; `nil` where the kernel does not tell.
        public var microcode: String?
    }

    /// A render node.
    public struct GPU: Codable, Sendable, Hashable {
        /// The device file: `/dev/dri/renderD128`.
        public var node: String
        /// The card's name where it is known.
        public var name: String?
        /// Vendor and device on the bus: `8086:56a0`.
        public var busIdentity: String?
        /// The kernel's driver: `i915`, `xe`, `amdgpu`.
        public var kernelDriver: String?
        /// How libva's driver calls itself, with its version.
        public var driver: String?
        /// Firmware by name, where it can be read: `["guc": "70.20.0"]`.
        @NothingIfAbsent public var firmware: [String: String] = [:]
        /// Whether there is no such device and a program only pretends that there is one.
        @NothingIfAbsent public var isFake = false
    }

    /// A library or a program.
    public struct Component: Codable, Sendable, Hashable {
        /// `x264`, `libva`, `ffmpeg`.
        public var name: String
        /// As it calls itself.
        public var version: String
        /// How it was built or where it was found, if that changes what is measured.
        public var detail: String?
    }
}

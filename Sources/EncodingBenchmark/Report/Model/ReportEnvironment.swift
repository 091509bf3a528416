// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// The machine and its installed software.
    public struct Environment: Codable, Sendable, Hashable {
        /// The CPU.
        public var processor: Processor
        /// The size of the main memory in bytes.
        public var memoryBytes: Int
        /// The distribution, such as `Debian GNU/Linux 12 (bookworm)`.
        public var operatingSystem: String
        /// The kernel release, such as `6.12.9-amd64`.
        public var kernel: String
        /// The containers and virtual machines around the program: `docker`, `kvm`.
        @NothingIfAbsent public var containment: [String] = []
        /// All render nodes, including those that no encoder of the plan uses.
        public var gpus: [GPU]
        /// The libraries and programs in use, with their versions.
        public var components: [Component]
        /// The environment variables that affect the measurement, such as `LIBVA_DRIVER_NAME`.
        @NothingIfAbsent public var variables: [String: String] = [:]
        /// The load average over one minute before the benchmark.
        public var loadAverage: Double?
        /// The facts that could not be determined, with the reasons.
        @NothingIfAbsent public var gaps: [String] = []
    }

    /// The CPU.
    public struct Processor: Codable, Sendable, Hashable {
        /// The model name from the kernel.
        public var model: String
        /// The number of physical cores; `nil` if it is not reported.
        public var cores: Int?
        /// The number of online logical processors.
        public var logicalProcessors: Int
        /// The number of logical processors that this process may use: its affinity, limited by control groups.
        public var usableProcessors: Double
        /// The frequency governor, such as `performance` or `powersave`; `nil` if it cannot be read.
        public var governor: String?
        /// The maximum frequency in hertz; `nil` if it is not reported.
        public var maximumFrequency: Double?
        /// The microcode revision; `nil` if it is not reported.
        public var microcode: String?
    }

    /// A render node.
    public struct GPU: Codable, Sendable, Hashable {
        /// The device file, such as `/dev/dri/renderD128`.
        public var node: String
        /// The name of the card, if it is known.
        public var name: String?
        /// The vendor and device ID, such as `8086:56a0`.
        public var busIdentity: String?
        /// The kernel driver: `i915`, `xe`, `amdgpu`.
        public var kernelDriver: String?
        /// The vendor string of the VA-API driver, with its version.
        public var driver: String?
        /// The firmware versions by name, if they can be read: `["guc": "70.20.0"]`.
        @NothingIfAbsent public var firmware: [String: String] = [:]
        /// Whether the device does not exist and is only simulated by a program.
        @NothingIfAbsent public var isFake = false
    }

    /// A library or a program.
    public struct Component: Codable, Sendable, Hashable {
        /// The name, such as `x264`, `libva` or `ffmpeg`.
        public var name: String
        /// The version that it reports.
        public var version: String
        /// The build or location, if it affects the measurement.
        public var detail: String?
    }
}

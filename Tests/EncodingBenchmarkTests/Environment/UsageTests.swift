// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import HostSystem
import TestSupport
import Testing

@testable import EncodingBenchmark

/// What kernels tell in `/proc/PID/fdinfo`.
@Suite struct GPUUsageTests {
    private let i915 = """
        pos:\t0
        flags:\t02100002
        drm-driver:\ti915
        drm-client-id:\tNUMBER
        drm-pdev:\t0000:00:02.0
        drm-engine-render:\tRENDER ns
        drm-engine-video:\tVIDEO ns
        drm-engine-capacity-video:\t2
        """

    private func i915(_ number: Int, render: Int, video: Int) -> String {
        i915.replacingOccurrences(of: "NUMBER", with: "\(number)")
            .replacingOccurrences(of: "RENDER", with: "\(render)")
            .replacingOccurrences(of: "VIDEO", with: "\(video)")
    }

    private func usage(_ machine: PretendedMachine, of processes: [String] = ["self", "77"], at moment: Double = 0)
        -> GPUUsage
    {
        GPUUsage(of: processes, machine.files, at: moment)
    }

    @Test func workIsThatOfThisProcessAndItsHelpersSince() throws {
        let machine = try PretendedMachine([
            "/proc/self/fdinfo/0": "pos:\t0\nflags:\t02\n",
            "/proc/self/fdinfo/5": i915(11, render: 1_000_000_000, video: 0),
            "/proc/77/fdinfo/3": i915(12, render: 0, video: 500_000_000),
        ])
        let before = usage(machine)
        try machine.write("/proc/self/fdinfo/5", i915(11, render: 1_250_000_000, video: 100_000_000))
        try machine.write("/proc/77/fdinfo/3", i915(12, render: 0, video: 2_500_000_000))
        #expect(usage(machine).measured(since: before).value == ["render": 0.25, "video": 2.1])
    }

    @Test func descriptorsOfOneClientCountOnce() throws {
        let machine = try PretendedMachine(["/proc/self/fdinfo/5": i915(11, render: 0, video: 0)])
        try machine.write("/proc/self/fdinfo/6", i915(11, render: 0, video: 0))
        let before = usage(machine)
        for name in ["5", "6"] {
            try machine.write("/proc/self/fdinfo/\(name)", i915(11, render: 0, video: 3_000_000_000))
        }
        #expect(usage(machine).measured(since: before).value == ["render": 0, "video": 3])
    }

    @Test func clientsThatCameCountFromZeroAndThoseThatWentAreKept() throws {
        let machine = try PretendedMachine(["/proc/77/fdinfo/3": i915(12, render: 0, video: 1_000_000_000)])
        let before = usage(machine)
        try machine.write("/proc/77/fdinfo/3", i915(12, render: 0, video: 1_500_000_000))
        let during = usage(machine)
        try machine.delete("/proc/77")
        try machine.write("/proc/self/fdinfo/4", i915(13, render: 0, video: 250_000_000))
        var after = usage(machine)
        after.keep(during)
        #expect(after.measured(since: before).value == ["render": 0, "video": 0.75])
    }

    @Test func amdgpuAndXeTellInTheirWays() throws {
        let amdgpu = "drm-driver:\tamdgpu\ndrm-client-id:\t5\ndrm-pdev:\t0000:03:00.0\ndrm-engine-enc_1:\tCOUNT ns\n"
        let xe = """
            drm-driver:\txe
            drm-client-id:\t9
            drm-pdev:\t0000:04:00.0
            drm-cycles-vcs:\tCOUNT
            drm-total-cycles-vcs:\tTOTAL
            drm-engine-capacity-vcs:\t2
            """
        let machine = try PretendedMachine()
        func write(_ enc: String, _ cycles: String, _ total: String) throws {
            try machine.write("/proc/self/fdinfo/3", amdgpu.replacingOccurrences(of: "COUNT", with: enc))
            let text = xe.replacingOccurrences(of: "COUNT", with: cycles).replacingOccurrences(of: "TOTAL", with: total)
            try machine.write("/proc/self/fdinfo/4", text)
        }
        try write("7000000000", "1000", "100000")
        let before = usage(machine, at: 50)
        try write("8000000000", "6000", "120000")
        // A quarter of the cycles of eight seconds.
        #expect(usage(machine, at: 58).measured(since: before).value == ["enc_1": 1, "vcs": 2])
    }

    /// A client that has ended counts with the cycles of its own time, and with the engines that there are.
    @Test func clientsThatWentAreMeasuredUntilTheyWent() throws {
        func xe(_ cycles: Int, of total: Int) -> String {
            "drm-driver:\txe\ndrm-client-id:\t9\ndrm-pdev:\t0000:04:00.0\ndrm-cycles-vcs:\t\(cycles)\n"
                + "drm-total-cycles-vcs:\t\(total)\ndrm-engine-capacity-vcs:\t2\n"
        }
        let machine = try PretendedMachine(["/proc/77/fdinfo/3": xe(0, of: 1000)])
        let before = usage(machine, at: 10)
        try machine.write("/proc/77/fdinfo/3", xe(1000, of: 2000))
        let during = usage(machine, at: 11)
        try machine.delete("/proc/77")
        var after = usage(machine, at: 14)
        after.keep(during, since: 11)
        #expect(after.measured(since: before).value == ["vcs": 1])
        // One second of two engines in four.
        #expect(Array(after.busy(since: before).values) == [0.125])
        var late = usage(machine, at: 15)
        late.keep(after, since: 11.5)
        #expect(late.busy(since: before).isEmpty)
    }

    @Test func saysWhyThereIsNothing() throws {
        let machine = try PretendedMachine(["/proc/self/fdinfo/0": "pos:\t0\n", "/proc/77/stat": ""])
        let none = usage(machine, of: ["self"])
        #expect(none.measured(since: none).absence == "the encoding processes do not use a GPU")
        let hidden = usage(machine)
        #expect(hidden.measured(since: hidden).absence == "/proc/77/fdinfo: No such file or directory")
        try machine.write("/proc/self/fdinfo/3", "drm-driver:\tvirtio_gpu\ndrm-client-id:\t3\n")
        let silent = usage(machine, of: ["self", "99"])
        #expect(silent.measured(since: silent).absence == "the kernel driver does not report the busy time of engines")
    }
}

@Suite struct EnergyUsageTests {
    private let powercap = "/sys/class/powercap"

    private func zone(_ machine: PretendedMachine, _ zone: String, _ name: String, _ energy: Int) throws {
        try machine.write("\(powercap)/\(zone)/name", name + "\n")
        try machine.write("\(powercap)/\(zone)/energy_uj", "\(energy)\n")
        try machine.write("\(powercap)/\(zone)/max_energy_range_uj", "262143328850\n")
    }

    @Test func countersThatArePartsAreLeftOut() throws {
        let machine = try PretendedMachine(["\(powercap)/intel-rapl/enabled": "1\n"])
        func write(_ factor: Int) throws {
            try zone(machine, "intel-rapl:0", "package-0", 1_000_000 * factor)
            try zone(machine, "intel-rapl:0:0", "core", 600_000 * factor)
            try zone(machine, "intel-rapl:0:1", "uncore", 200_000 * factor)
            try zone(machine, "intel-rapl:0:2", "dram", 150_000 * factor)
            try zone(machine, "intel-rapl:1", "package-1", 2_000_000 * factor)
            try zone(machine, "intel-rapl:2", "psys", 9_000_000 * factor)
            try zone(machine, "intel-rapl-mmio:0", "package-0", 1_000_000 * factor)
            try machine.write("/sys/class/hwmon/hwmon3/name", "xe\n")
            try machine.write("/sys/class/hwmon/hwmon3/energy1_input", "\(4_000_000 * factor)\n")
            try machine.write("/sys/class/hwmon/hwmon3/energy2_input", "\(3_000_000 * factor)\n")
            try machine.write("/sys/class/hwmon/hwmon4/name", "coretemp\n")
        }
        try write(1)
        let before = EnergyUsage(machine.files)
        try write(3)
        let spent = EnergyUsage(machine.files).spent(since: before).value
        #expect(spent == ["package-0": 2, "package-1": 4, "dram-0": 0.3, "xe-hwmon3": 8])
    }

    @Test func aCounterMayBeginAnew() throws {
        let machine = try PretendedMachine()
        try zone(machine, "intel-rapl:0", "package-0", 262_143_000_000)
        let before = EnergyUsage(machine.files)
        try zone(machine, "intel-rapl:0", "package-0", 1_671_150)
        #expect(try #require(EnergyUsage(machine.files).spent(since: before).value?["package-0"]) == 2)
    }

    @Test func thePlatformCountsWhereThereAreNoPackages() throws {
        let machine = try PretendedMachine()
        try zone(machine, "intel-rapl:0", "psys", 5_000_000)
        let before = EnergyUsage(machine.files)
        try zone(machine, "intel-rapl:0", "psys", 6_500_000)
        #expect(EnergyUsage(machine.files).spent(since: before).value == ["psys": 1.5])
    }

    @Test func saysWhyThereIsNothing() throws {
        let machine = try PretendedMachine()
        let none = EnergyUsage(machine.files)
        let reason = try #require(none.spent(since: none).absence)
        #expect(
            reason.contains("/sys/class/powercap: No such file") && reason.contains("/sys/class/hwmon: No such file")
        )
        try zone(machine, "intel-rapl:0", "package-0", 5_000_000)
        try machine.block("\(powercap)/intel-rapl:0/energy_uj")
        try machine.write("/sys/class/hwmon/hwmon0/name", "nvme\n")
        let hidden = EnergyUsage(machine.files)
        let text = try #require(hidden.spent(since: hidden).absence)
        #expect(text.contains("intel-rapl:0/energy_uj: Is a directory"))
        #expect(text.contains("no graphics card"))
    }
}

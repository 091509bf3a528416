// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import HostSystem
import TestSupport
import Testing

@testable import EncodingBenchmark

@Suite struct MachineSurveyTests {
    private func survey(_ machine: PretendedMachine) -> MachineSurvey {
        var survey = MachineSurvey(root: machine.root)
        survey.variables = [:]
        // Holds the machine, which is deleted when nothing does.
        survey.kernelHas = { _ in !machine.root.isEmpty }
        return survey
    }

    private func processor(_ texts: [String: String]) throws -> BenchmarkReport.Processor {
        survey(try PretendedMachine(texts)).environment().processor
    }

    private let laptop = [
        "/proc/cpuinfo": PretendedMachine.cpuinfo(sockets: 1, cores: 4, threads: 2),
        "/proc/meminfo": "MemTotal:       16166592 kB\nMemFree:         123 kB\n",
        "/proc/loadavg": "0.42 0.30 0.11 1/512 4711\n",
        "/proc/sys/kernel/osrelease": "6.12.9-amd64\n",
        "/etc/os-release": "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
        "/sys/devices/system/cpu/online": "0-7\n",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "4200000\n",
        "/sys/devices/system/cpu/cpu7/cpufreq/scaling_governor": "powersave\n",
    ]

    @Test func aLaptop() throws {
        let environment = survey(try PretendedMachine(laptop)).environment()
        let processor = environment.processor
        #expect(processor.model == "Intel(R) Core(TM) i5-1135G7 @ 2.40GHz" && processor.microcode == "0xb8")
        #expect(processor.cores == 4 && processor.logicalProcessors == 8 && processor.usableProcessors == 8)
        #expect(processor.governor == "powersave" && processor.maximumFrequency == 4.2e9)
        #expect(environment.memoryBytes == 16_166_592 * 1024 && environment.loadAverage == 0.42)
        #expect(environment.operatingSystem == "Debian GNU/Linux 12 (bookworm)")
        #expect(environment.kernel == "6.12.9-amd64" && environment.containment.isEmpty)
        #expect(environment.gpus.isEmpty)
        #expect(environment.gaps.count == 1 && environment.gaps[0].hasPrefix("GPUs: "))
    }

    @Test func nothingToReadIsToldAndNoError() throws {
        let environment = survey(try PretendedMachine()).environment()
        #expect(environment.processor.model == "unknown" && environment.processor.logicalProcessors == 1)
        #expect(environment.processor.cores == nil && environment.processor.governor == nil)
        #expect(environment.memoryBytes == 0 && environment.loadAverage == nil && environment.kernel == "unknown")
        for word in ["processor", "governor", "memory", "GPUs"] {
            #expect(environment.gaps.contains { $0.contains(word) }, "\(word)")
        }
    }

    @Test func socketsHaveCoresOfTheirOwn() throws {
        var texts = laptop
        texts["/proc/cpuinfo"] = PretendedMachine.cpuinfo(sockets: 2, cores: 8, threads: 2)
        texts["/sys/devices/system/cpu/online"] = "0-23,28-31\n"
        let processor = try processor(texts)
        #expect(processor.cores == 16 && processor.logicalProcessors == 28)
    }

    @Test func armTellsOfTheBoard() throws {
        let processor = try processor([
            "/proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 108.00\n\nprocessor\t: 1\nBogoMIPS\t: 108.00\n",
            "/proc/device-tree/model": "Raspberry Pi 5 Model B\0",
        ])
        #expect(processor.model == "Raspberry Pi 5 Model B")
        #expect(processor.cores == nil && processor.logicalProcessors == 2)
    }

    @Test func differentGovernorsAreAllNamed() throws {
        var texts = laptop
        texts["/sys/devices/system/cpu/cpu7/cpufreq/scaling_governor"] = "performance\n"
        #expect(try processor(texts).governor == "performance, powersave")
    }

    @Test(
        arguments: [
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "250000 100000\n"], 2.5),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"], 8),
            // The strictest of all levels.
            (
                [
                    "/proc/self/cgroup": "0::/system.slice/bench.service\n",
                    "/sys/fs/cgroup/system.slice/bench.service/cpu.max": "600000 100000",
                    "/sys/fs/cgroup/system.slice/cpu.max": "150000 50000",
                ], 3
            ),
            (
                [
                    "/proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n",
                    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
                ], 1.5
            ),
            (["/proc/self/cgroup": "5:cpu:/\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"], 8),
        ] as [([String: String], Double)]
    )
    func controlGroupsGrantProcessors(texts: [String: String], expected: Double) throws {
        #expect(try processor(laptop.merging(texts) { $1 }).usableProcessors == expected)
    }

    @Test func affinityLimitsProcessors() throws {
        let status = ["/proc/self/status": "Name:\tx\nCpus_allowed:\t31\nCpus_allowed_list:\t0,4-5\n"]
        #expect(try processor(laptop.merging(status) { $1 }).usableProcessors == 3)
        let quota = ["/proc/self/cgroup": "0::/", "/sys/fs/cgroup/cpu.max": "50000 100000"]
        #expect(try processor(laptop.merging(status) { $1 }.merging(quota) { $1 }).usableProcessors == 0.5)
    }

    @Test func containersAndHypervisorsAreNamed() throws {
        var texts = laptop
        texts["/proc/cpuinfo"] = PretendedMachine.cpuinfo(sockets: 1, cores: 2, threads: 1, flags: "fpu hypervisor")
        texts["/.dockerenv"] = ""
        texts["/sys/class/dmi/id/sys_vendor"] = "QEMU\n"
        var survey = survey(try PretendedMachine(texts))
        #expect(survey.environment().containment == ["docker", "kvm"])
        survey.variables = ["KUBERNETES_SERVICE_HOST": "10.0.0.1"]
        #expect(survey.environment().containment == ["docker", "kubernetes", "kvm"])
        texts["/sys/class/dmi/id/sys_vendor"] = "Somebody\n"
        texts["/.dockerenv"] = nil
        texts["/run/.containerenv"] = ""
        #expect(self.survey(try PretendedMachine(texts)).environment().containment == ["podman", "a virtual machine"])
        texts = laptop
        texts["/sys/class/dmi/id/sys_vendor"] = "QEMU\n"
        #expect(self.survey(try PretendedMachine(texts)).environment().containment.isEmpty)
    }

    @Test func onlyVariablesThatMatterAreKept() throws {
        var survey = survey(try PretendedMachine(laptop))
        survey.variables = ["LIBVA_DRIVER_NAME": "iHD", "HOME": "/root", "SECRET": "x", "MESA_LOADER": "y"]
        #expect(survey.environment().variables == ["LIBVA_DRIVER_NAME": "iHD", "MESA_LOADER": "y"])
    }

    @Test func nodesAreDescribedFromSysfs() throws {
        var texts = laptop
        let event = "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:731F\nPCI_SLOT_NAME=0000:03:00.0\n"
        texts["/dev/dri/renderD128"] = ""
        texts["/sys/class/drm/renderD128/device/uevent"] = event
        texts["/sys/class/drm/renderD128/device/fw_version/vcn_fw_version"] = "0x0210a00e\n"
        texts["/sys/kernel/debug/dri/128/gt0/uc/guc_info"] =
            "GuC firmware: i915/adlp_guc_70.bin\n\tversion: found 70.20.0\n"
        let machine = try PretendedMachine(texts)
        let gpus = survey(machine).environment(nodes: ["/dev/dri/renderD128"]).gpus
        try #require(gpus.count == 1)
        #expect(gpus[0].node == "/dev/dri/renderD128" && gpus[0].busIdentity == "1002:731f")
        #expect(gpus[0].kernelDriver == "amdgpu" && !gpus[0].isFake)
        #expect(gpus[0].firmware == ["vcn": "0x0210a00e", "guc": "70.20.0"])
    }

    @Test func nodesThatTheKernelDoesNotKnowAreFake() throws {
        var texts = laptop
        texts["/dev/dri/renderD129"] = ""
        let machine = try PretendedMachine(texts)
        var survey = survey(machine)
        survey.kernelHas = { !machine.root.isEmpty && $0 != "/dev/dri/renderD129" && $0 != "/dev/dri/renderD130" }
        let gpus = survey.environment(nodes: ["/dev/dri/renderD130"]).gpus
        #expect(gpus.map(\.node) == ["/dev/dri/renderD129", "/dev/dri/renderD130"])
        #expect(gpus.map(\.isFake) == [true, true])
        #expect(!MachineSurvey().kernelHas("/dev/dri/renderD4711"))
        #expect(MachineSurvey().kernelHas("/dev/null"))
    }

    @Test func thisMachineHasProcessorsAndMemory() {
        let environment = MachineSurvey().environment()
        #expect(environment.processor.logicalProcessors > 0 && environment.processor.usableProcessors > 0)
        #expect(environment.memoryBytes > 1 << 26)
        #expect(environment.kernel.first?.isNumber == true)
    }
}

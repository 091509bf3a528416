// SPDX-License-Identifier: GPL-2.0-or-later

import HostSystem
import JobStore
import TestSupport
import Testing

@testable import EncodingService

/// Which tasks begin.
@Suite struct AdmissionTests {
    private let gpu = "/dev/dri/renderD128"
    private let other = "/dev/dri/renderD129"
    private let both: Set<Admission.Resource> = [.processors, .devices]

    private func admission(least: Int = 2, most: Int = 16) -> Admission {
        Admission(.measured(least: least, most: most))
    }

    private func tasks(_ resource: Admission.Resource?, _ begins: Double...) -> [Admission.Task] {
        begins.map { Admission.Task(resource: resource, begin: $0) }
    }

    @Test(arguments: [
        (0, 2.0, Admission.Limit.measured(least: 1, most: 8)), (0, 0.5, .measured(least: 1, most: 4)),
        (0, 16, .measured(least: 8, most: 64)), (3, 16, .fixed(3)),
    ])
    func theLimitIsThatOfTheSettingsOrOfTheMachine(setting: Int, processors: Double, limit: Admission.Limit) {
        #expect(Admission.Limit(setting: setting, processors: processors) == limit)
    }

    @Test func aFixedNumberBeginsWhateverIsMeasured() {
        var admission = Admission(.fixed(2))
        admission.note(MachineLoad(processors: 1, engines: [gpu: ["video": 1]]), [], at: 0)
        #expect(admission.offer(beside: tasks(.devices, 0), usable: [gpu], at: 9).resources == both)
        #expect(admission.offer(beside: tasks(.devices, 0, 0), usable: [gpu], at: 9) == Admission.Offer())
        #expect(admission.free(of: [gpu, other]) == [gpu, other])
    }

    @Test func theLeastNumberBeginsWithoutMeasurement() {
        let admission = admission()
        #expect(admission.offer(beside: [], usable: [], at: 0).resources == both)
        #expect(admission.offer(beside: tasks(.processors, 0), usable: [], at: 0).resources == both)
        #expect(admission.offer(beside: tasks(.processors, 0, 0), usable: [], at: 100).resources == [])
    }

    @Test func moreBeginWhileProcessorsHaveTime() {
        var admission = admission(most: 4)
        admission.note(MachineLoad(processors: 0.3), [], at: 10)
        let settled = tasks(.processors, 0, 1)
        #expect(admission.offer(beside: settled, usable: [], at: 5.9).resources == [])
        #expect(admission.offer(beside: settled, usable: [], at: 6).resources == both)
        #expect(admission.offer(beside: settled + tasks(nil, 6), usable: [], at: 10).resources == [])
        #expect(admission.offer(beside: settled, streams: tasks(.devices, 6), usable: [], at: 10).resources == [])
        #expect(admission.offer(beside: tasks(.processors, 0, 0, 0, 0), usable: [], at: 99).resources == [])
        admission.note(MachineLoad(processors: 0.9), [], at: 10)
        #expect(admission.offer(beside: settled, usable: [], at: 99).resources == [])
    }

    /// Inputs that come slowly take nothing of the machine.
    @Test func whatIsFetchedIsNotWaitedFor() {
        var admission = admission()
        admission.note(MachineLoad(processors: 0.1), [], at: 10)
        var running = tasks(.processors, 10, 10)
        #expect(admission.offer(beside: running, usable: [], at: 10).resources == [])
        for index in running.indices { running[index].isFetching = true }
        #expect(admission.offer(beside: running, usable: [], at: 10).resources == both)
    }

    @Test func aGPUThatNobodyUsesMayBegin() {
        var admission = admission()
        admission.note(MachineLoad(processors: 1), [], at: 0)
        let running = tasks(.processors, 0, 0)
        #expect(admission.offer(beside: running, usable: [gpu], at: 50).resources == [.devices])
        #expect(admission.offer(beside: running + tasks(.devices, 50), usable: [gpu], at: 99).resources == [])
    }

    @Test func tasksWaitWhileAnEngineIsBusy() {
        var admission = admission(least: 8)
        let running = tasks(.devices, 0, 0)
        admission.note(MachineLoad(processors: 0.2, engines: [gpu: ["video": 0.4, "render": 0.92]]), running, at: 9)
        let offer = admission.offer(beside: running, usable: [gpu], at: 9)
        #expect(offer == Admission.Offer(resources: [.processors], areDevicesBusy: true))
        admission.note(
            MachineLoad(processors: 0.2, engines: [gpu: ["video": 0.95], other: ["video": 0.1]]),
            running,
            at: 9
        )
        #expect(admission.offer(beside: running, usable: [gpu, other], at: 9).resources == both)
        #expect(admission.free(of: [gpu, other]) == [other])
        // Another one of which nothing is known yet has not been used.
        admission.note(MachineLoad(processors: 0.2, engines: [gpu: ["video": 0.95]]), running, at: 9)
        #expect(admission.offer(beside: running, usable: [gpu, other], at: 9).resources == both)
        #expect(admission.free(of: [gpu, other]) == [other])
        #expect(admission.free(of: [gpu]) == [gpu])
    }

    /// Tasks for GPUs take no place of the others, and begin beyond any number while both have time.
    @Test func tasksForMeasuredGPUsAreCountedApart() {
        var admission = admission(least: 2, most: 20)
        let running = tasks(.devices, 0, 0, 0)
        admission.note(MachineLoad(processors: 0.99, engines: [gpu: ["video": 0.3]]), running, at: 9)
        #expect(admission.offer(beside: running, usable: [gpu], at: 9).resources == [.processors])
        admission.note(MachineLoad(processors: 0.3, engines: [gpu: ["video": 0.3]]), running, at: 9)
        #expect(admission.offer(beside: running, usable: [gpu], at: 9).resources == both)
        // However often one begins, the CPU is not forgotten.
        let fresh = running + tasks(.devices, 8)
        #expect(admission.offer(beside: fresh + tasks(.processors, 0, 0), usable: [gpu], at: 9).resources == both)
    }

    /// At the beginning, one for each GPU begins, until it is known what a task takes.
    @Test func aBacklogDoesNotBeginAtOnce() {
        var admission = admission(least: 16, most: 64)
        func begun(_ usable: [String]) -> Int {
            var running: [Admission.Task] = []
            while admission.offer(beside: running, usable: usable, at: 0).resources.contains(.devices) {
                running += tasks(.devices, 0)
            }
            return running.count
        }
        #expect(begun([gpu]) == 1 && begun([gpu, other]) == 2)
        // What takes nearly nothing does not begin without end either.
        let little = tasks(.devices, -20)
        admission.note(MachineLoad(processors: 0.1, engines: [gpu: ["video": 0.001]]), little, at: -10)
        #expect(begun([gpu]) == 16)
    }

    /// With a driver that tells nothing of its engines, tasks are counted as all others.
    @Test func whereNothingIsToldTheCountDecides() {
        var admission = admission(least: 3, most: 20)
        let first = tasks(.devices, 0)
        for second in 0...4 { admission.note(MachineLoad(processors: 0.9), first, at: Double(second)) }
        #expect(admission.offer(beside: first, usable: [gpu], at: 4).areDevicesBusy)
        admission.note(MachineLoad(processors: 0.9), first, at: 5)
        #expect(admission.offer(beside: first, usable: [gpu], at: 5) == Admission.Offer(resources: both))
        #expect(admission.offer(beside: first + tasks(.devices, 5, 5), usable: [gpu], at: 5).resources == [])
    }

    @Test func withoutGPUsTasksForThemAreLikeOthers() {
        var admission = admission(least: 2)
        admission.note(MachineLoad(processors: 0.99), [], at: 0)
        #expect(admission.offer(beside: tasks(.devices, 0), usable: [], at: 0).resources == both)
        #expect(admission.offer(beside: tasks(.devices, 0, 0), usable: [], at: 0).resources == [])
    }

    /// What has just begun is not part of the load yet.
    @Test func whatHasBegunCountsAsMuchAsOthers() {
        var admission = admission(least: 8)
        let first = tasks(.devices, 0)
        admission.note(MachineLoad(engines: [gpu: ["video": 0]]), first, at: 1)
        #expect(admission.sharePerTask == nil)
        #expect(admission.offer(beside: first, usable: [gpu], at: 1).areDevicesBusy)
        admission.note(MachineLoad(engines: [gpu: ["video": 0.31]]), first, at: 5)
        #expect(admission.sharePerTask == 0.31)
        #expect(!admission.offer(beside: first, usable: [gpu], at: 5).areDevicesBusy)
        #expect(!admission.offer(beside: first + tasks(.devices, 5), usable: [gpu], at: 5).areDevicesBusy)
        #expect(admission.offer(beside: first + tasks(.devices, 5, 5), usable: [gpu], at: 5).areDevicesBusy)
    }

    /// Tasks that end before they are settled are measured together: otherwise each would count as a whole GPU for ever.
    @Test func shortTasksAreMeasuredTogether() {
        var admission = admission(least: 8)
        for second in 0..<30 {
            // Two of them, each for three seconds.
            let now = Double(second)
            let running = tasks(.devices, now - now.truncatingRemainder(dividingBy: 3), now - 1)
            admission.note(MachineLoad(processors: 0.3, engines: [gpu: ["video": 0.3]]), running, at: now)
            #expect((admission.sharePerTask == nil) == (second < 10))
            #expect(admission.offer(beside: running, usable: [gpu], at: now).areDevicesBusy == (second < 10))
        }
        #expect(abs((admission.sharePerTask ?? 0) - 0.15) < 1e-9)
    }

    @Test func theResourceIsThatOfTheDemand() {
        for resource in Admission.Resource.allCases {
            #expect(Admission.Resource(resource.demand) == resource)
            #expect(resource.demand.isMet(by: Admission.Offer(resources: [resource]).abilities))
        }
        #expect(Admission.Resource(Demand()) == nil)
        #expect(!Admission.Resource.devices.demand.isMet(by: Admission.Offer(resources: [.processors]).abilities))
    }

    /// A machine with one GPU whose tasks work as fast as they may alone, and share an engine that is full.
    private struct Machine {
        /// The share of the engine that a task takes alone, and the work that it has to do.
        var share: Double
        var work: Double
        var begin: Double
    }

    /// With a queue that never ends, the engine is full most of the time, and few more tasks run than fill it: for any
    /// share that a task takes.
    @Test(arguments: [0.07, 0.12, 0.2, 0.35, 0.5, 0.8, 1])
    func tasksFillAGPUAndDoNotQueueOnIt(share: Double) {
        var admission = Admission(.measured(least: 16, most: 128))
        var running: [Machine] = []
        var history: [Double] = []
        var (used, most, begun, isTold) = (0.0, 0, 0, false)
        let (step, duration) = (0.5, 600.0)
        for now in stride(from: 0, to: duration, by: step) {
            // Two seconds pass until a task works.
            let working = running.filter { now - $0.begin >= 2 }
            let wanted = working.reduce(0) { $0 + $1.share }
            let slowdown = max(wanted, 1)
            for index in running.indices where now - running[index].begin >= 2 {
                running[index].work -= running[index].share / slowdown * step
            }
            running.removeAll { $0.work <= 0 }
            history.append(min(wanted, 1))
            let window = history.suffix(6)
            isTold = isTold || !working.isEmpty
            let load = MachineLoad(
                processors: 0.2,
                engines: isTold ? [gpu: ["video": window.reduce(0, +) / Double(window.count)]] : [:]
            )
            let loads = { running.map { Admission.Task(resource: .devices, begin: $0.begin) } }
            if now == now.rounded() { admission.note(load, loads(), at: now) }
            while admission.offer(beside: loads(), usable: [gpu], at: now).resources.contains(.devices) {
                // 20 to 60 seconds alone.
                running.append(Machine(share: share, work: share * Double(20 + begun * 17 % 41), begin: now))
                begun += 1
            }
            if now > 60 {
                used += min(wanted, 1) * step
                most = max(most, running.count)
            }
        }
        #expect(used / (duration - 60) > 0.75)
        let fitting = (Admission.fullEngine / share).rounded(.up)
        #expect(Double(most) <= fitting + 2)
    }
}

/// How busy a machine is, by what its kernel tells.
@Suite struct MachineLoadTests {
    private let gpu = LoadMeter.GPU(node: "/dev/dri/renderD128", address: "0000:00:02.0")

    private func stat(_ machine: PretendedMachine, _ worked: Int, idle: Int) throws {
        try machine.write(
            "/proc/stat",
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 \(worked) 0 0 \(idle) 0 0 0 0 0 0\ncpu1 0 \(worked) 0 \(idle) 0 0 0 0\n"
                + "cpu2 999999\(worked) 0 0 0 0 0 0 0\nintr 5\n"
        )
    }

    private func engines(_ machine: PretendedMachine, _ video: Double) throws {
        try machine.write(
            "/proc/301/fdinfo/7",
            "drm-driver:\ti915\ndrm-client-id:\t4\ndrm-pdev:\t0000:00:02.0\ndrm-engine-video:\t\(Int(video * 1e9)) ns\n"
                + "drm-engine-capacity-video:\t2\ndrm-engine-render:\t0 ns\n"
        )
    }

    private func machine() throws -> PretendedMachine {
        try PretendedMachine([
            "/sys/devices/system/cpu/online": "0-3\n", "/proc/self/status": "Cpus_allowed_list:\t0-1\n",
            "/proc/self/task/20/children": "300 ", "/proc/self/task/21/children": "",
            "/proc/300/task/300/children": "301 ",
            "/proc/300/fdinfo/0": "pos:\t0\n",
        ])
    }

    @Test func isTheMeanOfSomeSeconds() throws {
        let machine = try machine()
        let meter = LoadMeter(machine.files)
        try stat(machine, 100, idle: 100)
        try engines(machine, 1)
        #expect(meter.read([gpu], at: 10) == MachineLoad())
        for second in 1...9 {
            try stat(machine, 100 + 25 * second, idle: 100 + 75 * second)
            // One of two engines works all the time, then both.
            try engines(machine, 1 + Double(min(second, 4)) + 2 * Double(max(second - 4, 0)))
            let load = meter.read([gpu], at: 10 + Double(second))
            #expect(load.processors == 0.25)
            let video = [1: 0.5, 4: 0.5, 7: 1, 9: 1][second]
            if let video { #expect(load.engines[gpu.node] == ["video": video, "render": 0]) }
        }
        // What a task has done counts for as long as the load is the mean of, and its GPU is known to be idle then.
        try machine.delete("/proc/301")
        let ended = try #require(meter.read([gpu], at: 20).engines[gpu.node]?["video"])
        #expect(ended > 0.6 && ended < 0.8)
        #expect(meter.read([gpu], at: 23.5).engines == [gpu.node: [:]])
        #expect(meter.read([], at: 30).engines == [gpu.node: [:]])
        #expect(meter.read([], at: 30).busiest(of: gpu.node) == 0)
    }

    @Test func aQuotaIsWhatCounts() throws {
        let machine = try machine()
        try machine.write("/proc/self/cgroup", "0::/\n")
        try machine.write("/sys/fs/cgroup/cpu.max", "50000 100000\n")
        try machine.write("/sys/fs/cgroup/cpu.stat", "usage_usec 1000000\nuser_usec 1\n")
        try stat(machine, 100, idle: 100)
        #expect(ProcessorGrant(machine.files).count == 0.5)
        let meter = LoadMeter(machine.files)
        _ = meter.read([], at: 1)
        try stat(machine, 150, idle: 350)
        try machine.write("/sys/fs/cgroup/cpu.stat", "usage_usec 1900000\nuser_usec 1\n")
        #expect(abs(try #require(meter.read([], at: 3).processors) - 0.9) < 1e-9)
    }

    @Test func whatTheKernelDoesNotTellIsNotKnown() throws {
        let machine = try PretendedMachine()
        let meter = LoadMeter(machine.files)
        _ = meter.read([gpu], at: 1)
        #expect(meter.read([gpu], at: 2) == MachineLoad())
    }

    /// The real one, whose processors do something all the time.
    @Test func thisMachineIsMeasured() throws {
        let grant = ProcessorGrant()
        #expect(grant.count > 0 && grant.count <= Double(grant.allowed.count))
        let meter = LoadMeter()
        _ = meter.read([], at: Clock.monotonic)
        let end = Clock.monotonic + 0.2
        var sum = 0.0
        while Clock.monotonic < end { sum += 1 }
        let busy = try #require(meter.read([], at: Clock.monotonic).processors)
        #expect(sum > 0 && busy > 0 && busy <= 1)
    }
}

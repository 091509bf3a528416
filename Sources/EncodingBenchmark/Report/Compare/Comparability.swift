// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension ReportComparison {
    /// Returns the differences between two reports that prevent a comparison of their figures.
    static func obstacles(
        _ before: BenchmarkReport,
        _ after: BenchmarkReport
    ) -> [(obstacle: Obstacle, difference: String)] {
        clipObstacles(before, after) + planObstacles(before.plan, after.plan)
            + machineObstacles(before.environment, after.environment) + encoderObstacles(before, after)
    }

    private static func clipObstacles(
        _ before: BenchmarkReport,
        _ after: BenchmarkReport
    ) -> [(obstacle: Obstacle, difference: String)] {
        let common = before.clips.filter { clip in after.clips.contains { $0.id == clip.id } }
        guard !common.isEmpty else { return [(.clips, "the reports have no clip in common")] }
        return common.compactMap { old in
            guard let new = after.clips.first(where: { $0.id == old.id }) else { return nil }
            let facts: [(String, String, String)] = [
                ("frames", "\(old.frameCount)", "\(new.frameCount)"),
                ("size", "\(old.width)x\(old.height)", "\(new.width)x\(new.height)"),
                ("frame rate", old.frameRate, new.frameRate), ("pixel format", old.pixelFormat, new.pixelFormat),
                ("pictures", old.digest, new.digest),
            ]
            return difference(facts).map { (.clips, "\(old.id): \($0)") }
        }
    }

    private static func planObstacles(
        _ before: BenchmarkPlan,
        _ after: BenchmarkPlan
    ) -> [(obstacle: Obstacle, difference: String)] {
        func words(_ values: [some PlanText]) -> String { values.map(\.text).joined(separator: ",") }
        let facts: [(String, String, String)] = [
            ("points", words(before.points), words(after.points)),
            ("frames", "\(before.frames)", "\(after.frames)"), ("warm-ups", "\(before.warmups)", "\(after.warmups)"),
            ("density", "\(before.density.map { "\($0)" } ?? "none")", "\(after.density.map { "\($0)" } ?? "none")"),
        ]
        return difference(facts).map { [(.plan, $0)] } ?? []
    }

    private static func machineObstacles(
        _ before: BenchmarkReport.Environment,
        _ after: BenchmarkReport.Environment
    ) -> [(obstacle: Obstacle, difference: String)] {
        func cards(_ environment: BenchmarkReport.Environment) -> String {
            environment.gpus.map { "\($0.busIdentity ?? "?")\($0.isFake ? " (fake)" : "")" }.joined(separator: ", ")
        }
        let (old, new) = (before.processor, after.processor)
        let facts: [(String, String, String)] = [
            ("CPU", old.model, new.model),
            ("usable processors", "\(old.usableProcessors)", "\(new.usableProcessors)"),
            ("governor", old.governor ?? "none", new.governor ?? "none"), ("GPUs", cards(before), cards(after)),
        ]
        return difference(facts).map { [(.machine, $0)] } ?? []
    }

    private static func encoderObstacles(
        _ before: BenchmarkReport,
        _ after: BenchmarkReport
    ) -> [(obstacle: Obstacle, difference: String)] {
        before.encoders.compactMap { old in
            guard let new = after.encoders.first(where: { $0.id == old.id }) else { return nil }
            let names = Set(old.settings.keys).union(new.settings.keys).sorted()
            let facts: [(String, String, String)] =
                [
                    ("pictures", old.transfer.title, new.transfer.title), ("codec", old.codec, new.codec),
                    ("preset", old.preset ?? "none", new.preset ?? "none"),
                    ("entrypoint", old.entrypoint ?? "none", new.entrypoint ?? "none"),
                    ("own process", "\(old.isInHelper)", "\(new.isInHelper)"),
                    (
                        "fake", "\(old.isFakeNode || old.isReferenceDriver)",
                        "\(new.isFakeNode || new.isReferenceDriver)"
                    ),
                ] + names.map { ($0, old.settings[$0] ?? "not set", new.settings[$0] ?? "not set") }
            return difference(facts).map { (.settings, "\(old.id): \($0)") }
        }
    }

    /// Returns the differences in the machine, or in the versions of its installed software.
    static func changes(
        from before: BenchmarkReport.Environment,
        to after: BenchmarkReport.Environment
    ) -> [String] {
        machineObstacles(before, after).map(\.difference) + differences(before, after, "", "")
    }

    /// Returns the differences between named facts; `nil` if there are none.
    private static func difference(_ facts: [(name: String, before: String, after: String)]) -> String? {
        let differing = facts.filter { $0.before != $0.after }
        guard !differing.isEmpty else { return nil }
        return differing.map { "\($0.name) \($0.before), then \($0.after)" }.joined(separator: "; ")
    }

    /// Returns the different versions, which are often the purpose of a comparison.
    static func differences(
        _ before: BenchmarkReport.Environment,
        _ after: BenchmarkReport.Environment,
        _ programBefore: String,
        _ programAfter: String
    ) -> [String] {
        func versions(_ environment: BenchmarkReport.Environment, _ program: String) -> [String: String] {
            var versions = Dictionary(environment.components.map { ($0.name, $0.version) }) { first, _ in first }
            versions["program"] = program
            versions["kernel"] = environment.kernel
            versions["system"] = environment.operatingSystem
            versions["microcode"] = environment.processor.microcode
            for gpu in environment.gpus {
                versions["driver of \(gpu.node)"] = gpu.driver
                for (name, version) in gpu.firmware { versions["\(name) of \(gpu.node)"] = version }
            }
            for (name, value) in environment.variables { versions[name] = value }
            return versions
        }
        let (old, new) = (versions(before, programBefore), versions(after, programAfter))
        return Set(old.keys).union(new.keys).sorted().filter { old[$0] != new[$0] }.map { name in
            "\(name): \(old[name] ?? "none"), then \(new[name] ?? "none")"
        }
    }
}

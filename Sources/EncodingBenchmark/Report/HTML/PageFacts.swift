// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The measured subjects, the machine, and explanations.
extension ReportPage {
    var warningSection: Markup {
        let warnings = figures.warnings.filter { $0.weight != .banner }
        guard !warnings.isEmpty else { return "" }
        let items = warnings.map { warning -> Markup in
            let subject: Markup = warning.subject.map { "<b>\($0):</b> " } ?? ""
            let weight = warning.weight == .caution ? "Caution" : "Note"
            return "<li class=\"\(warning.weight.rawValue)\"><b>\(weight)</b> \(subject)\(warning.message)</li>"
        }
        return
            "<section id=\"warnings\"><h2>What to know about these figures</h2><ul class=\"warnings\">\(items)</ul></section>"
    }

    var encoderSection: Markup {
        let items = report.encoders.map { encoder -> Markup in
            let facts: [(String, String?)] = [
                ("Encoder", encoder.name), ("Codec", encoder.codec), ("Device", encoder.device),
                ("Driver", encoder.driver), ("Entrypoint", encoder.entrypoint), ("Preset", encoder.preset),
                ("Pictures", encoder.transfer.title),
                ("Process", encoder.isInHelper ? "helper" : "benchmark"),
            ]
            let settings = encoder.settings.sorted { $0.key < $1.key }.map { ($0.key, Optional($0.value)) }
            return """
                <details class="card"><summary>\(tag(encoder.id))</summary>\(Self.facts(facts + settings))</details>
                """
        }
        return
            "<section id=\"encoders\"><h2>Encoders and their settings</h2><div class=\"cards\">\(items)</div></section>"
    }

    var environmentSection: Markup {
        let environment = report.environment
        let processor = environment.processor
        let machine: [(String, String?)] = [
            ("CPU", processor.model),
            ("Cores", processor.cores.map { "\($0)" }),
            ("Logical processors", "\(processor.logicalProcessors)"),
            (
                "Of these usable",
                Readable.number(
                    processor.usableProcessors,
                    places: processor.usableProcessors == processor.usableProcessors.rounded() ? 0 : 2
                )
            ),
            ("Frequency governor", processor.governor ?? "not told"),
            ("Highest frequency", processor.maximumFrequency.map { Readable.number($0 / 1e6, places: 0) + " MHz" }),
            ("Microcode", processor.microcode),
            ("Memory", Readable.byteCount(Int64(clamping: environment.memoryBytes))),
            ("System", environment.operatingSystem), ("Kernel", environment.kernel),
            ("Inside of", environment.containment.isEmpty ? nil : environment.containment.joined(separator: ", ")),
            ("Load before", environment.loadAverage.map { Readable.number($0, places: 2) }),
        ]
        let gpus = environment.gpus.map { gpu -> Markup in
            let firmware = gpu.firmware.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            let facts: [(String, String?)] = [
                ("Card", gpu.name), ("On the bus", gpu.busIdentity), ("Kernel driver", gpu.kernelDriver),
                ("Driver", gpu.driver), ("Firmware", firmware.isEmpty ? nil : firmware.joined(separator: ", ")),
                ("Fake", gpu.isFake ? "yes: the device is simulated" : nil),
            ]
            return "<div class=\"card\"><h3>\(gpu.node)</h3>\(Self.facts(facts))</div>"
        }
        let components = environment.components.map { component in
            (
                component.name,
                Optional([component.version, component.detail].compactMap(\.self).joined(separator: ", "))
            )
        }
        let variables = environment.variables.sorted { $0.key < $1.key }.map { ($0.key, Optional($0.value)) }
        return """
            <section id="environment"><h2>Machine</h2><div class="cards">
            <div class="card"><h3>Machine</h3>\(Self.facts(machine))</div>\(gpus)
            <div class="card"><h3>Software</h3>\(Self.facts(components + variables))</div>
            <div class="card"><h3>Plan</h3>\(Self.facts(plan))</div></div></section>
            """
    }

    private var plan: [(String, String?)] {
        let plan = report.plan
        return [
            ("Clips", plan.clips.map(\.text).joined(separator: ", ")),
            ("Sizes", plan.sizes.map(\.text).joined(separator: ", ")),
            ("Frames", "\(plan.frames) at \(plan.frameRate.text) per second"),
            (
                "Points",
                plan.points.isEmpty ? "automatic for each size" : plan.points.map(\.text).joined(separator: ", ")
            ),
            ("Modes", plan.modes.map(\.title).joined(separator: ", ")),
            ("Repeats", "\(plan.repeats), after \(plan.warmups) warm-up runs"),
            ("Price per hour", plan.price.map { Readable.number($0, places: 4) }),
        ]
    }

    var readingSection: Markup {
        let metrics = Metric.all.map { metric in "<dt>\(metric.heading)</dt><dd>\(metric.explanation)</dd>" as Markup }
        return """
            <section id="reading"><h2>How to read it</h2>
            <p>Each point was measured several times, and encoders took turns, so that a change of the machine's speed meets \
            all of them. The large figure is the median. The small ones are an interval that holds the true median: of six \
            and more repeats with 95 % confidence, of fewer from the least to the most that was measured. Where two intervals \
            overlap, the two encoders are not told apart.</p>
            <p>Rate for the same quality is the Bjøntegaard difference (BD-rate, Akima's interpolation, quality of luma). It \
            needs four points and quality that rises with the rate; else it is not given. “shares 60 %” says that two curves \
            have only so much of their range in common: such a number says little, and is not in the chart of speeds.</p>
            <p>“In place” encoders read pictures in main memory, “hybrid” ones copy them to the GPU, and “zero-copy” ones \
            find them there. Hybrid and zero-copy are never compared with each other.</p>
            <dl class="facts">\(metrics)</dl></section>
            """
    }

    private static func facts(_ facts: [(String, String?)]) -> Markup {
        let rows = facts.compactMap { name, value in value.map { "<dt>\(name)</dt><dd>\($0)</dd>" as Markup } }
        return "<dl class=\"facts\">\(rows)</dl>"
    }
}

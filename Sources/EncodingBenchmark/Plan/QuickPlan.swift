// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkPlan {
    /// A look at a machine in a minute or so: one small generated clip, four rates, one repeat; too little for intervals.
    public static var quick: BenchmarkPlan {
        var plan = BenchmarkPlan()
        plan.name = "quick"
        plan.sizes = [BenchmarkSize(width: 640, height: 360)]
        plan.frames = 60
        plan.repeats = 1
        plan.warmups = 0
        return plan
    }

    /// What is measured if nothing else is said of encoders: the presets that differences are told against, and beside them
    /// everything that GPUs encode with.
    public static var usualEncoders: [String] { ["x264:veryfast", "x264:medium", "hardware"] }

    /// What is wrong with the plan as a whole; empty if nothing is.
    public var contradictions: [String] {
        var found: [String] = []
        let kinds = Set(
            points.map { point in
                switch point {
                case .bitRate: "rates"
                case .quality: "crf"
                case .quantizer: "qp"
                }
            }
        )
        if kinds.count > 1 {
            found.append("points must be of one kind, not \(kinds.sorted().joined(separator: ", "))")
        }
        for (name, count, distinct) in [
            ("clips", clips.count, Set(clips).count), ("sizes", sizes.count, Set(sizes).count),
            ("encoders", encoders.count, Set(encoders).count), ("points", points.count, Set(points).count),
            ("modes", modes.count, Set(modes).count),
        ] where count != distinct {
            found.append("\(name) are named twice")
        }
        // Reports tell clips apart by that, and encoders by the last part of their node.
        let clipNames = Dictionary(grouping: Set(clips), by: \.name).filter { $0.value.count > 1 }.keys
        found += clipNames.sorted().map { "two clips have the name \($0)" }
        let encoderNames = Dictionary(grouping: Set(encoders), by: \.title).filter { $0.value.count > 1 }.keys
        found += encoderNames.sorted().map { "two encoders have the name \($0)" }
        return found
    }

    /// What a reader of the result will miss.
    public var weaknesses: [String] {
        var found: [String] = []
        if (1..<4).contains(points.count) { found.append("a curve needs four points; there are \(points.count)") }
        if repeats < 3 { found.append("confidence intervals need at least three repeats; there are \(repeats)") }
        if warmups == 0 { found.append("there are no warm-up runs") }
        return found
    }
}

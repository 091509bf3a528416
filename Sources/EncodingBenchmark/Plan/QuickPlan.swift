// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkPlan {
    /// A plan of about a minute: one small generated clip, four bitrates, one repetition; not enough for intervals.
    public static var quick: BenchmarkPlan {
        var plan = BenchmarkPlan()
        plan.name = "quick"
        plan.sizes = [BenchmarkSize(width: 640, height: 360)]
        plan.frames = 60
        plan.repeats = 1
        plan.warmups = 0
        return plan
    }

    /// The default encoders: the presets that serve as anchors for comparisons, and all GPU encoders.
    public static var usualEncoders: [String] { ["x264:veryfast", "x264:medium", "hardware"] }

    /// The errors of the plan as a whole; empty if it is valid.
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
            found.append("\(name) are listed twice")
        }
        // Reports identify clips by this name, and encoders by the last component of their node.
        let clipNames = Dictionary(grouping: Set(clips), by: \.name).filter { $0.value.count > 1 }.keys
        found += clipNames.sorted().map { "two clips have the name \($0)" }
        let encoderNames = Dictionary(grouping: Set(encoders), by: \.title).filter { $0.value.count > 1 }.keys
        found += encoderNames.sorted().map { "two encoders have the name \($0)" }
        return found
    }

    /// The limitations of the results.
    public var weaknesses: [String] {
        var found: [String] = []
        if (1..<4).contains(points.count) { found.append("a curve needs four points; there are \(points.count)") }
        if repeats < 3 { found.append("confidence intervals need at least three repeats; there are \(repeats)") }
        if warmups == 0 { found.append("there are no warm-up runs") }
        return found
    }
}

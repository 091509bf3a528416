// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension DecodersReport {
    /// The warnings for the reader, most important first.
    package var warnings: [BenchmarkReport.Warning] {
        let all = decoders.flatMap(warnings) + inputWarnings + speedWarnings + environment.warnings
        return BenchmarkReport.Warning.Weight.allCases.flatMap { weight in all.filter { $0.weight == weight } }
    }

    private func warnings(of decoder: Decoder) -> [BenchmarkReport.Warning] {
        var warnings: [BenchmarkReport.Warning] = []
        func caution(_ message: String) { warnings.append(.init(.caution, message, subject: decoder.id)) }
        if decoder.isReferenceDriver { warnings.append(.referenceDriver("decoder", subject: decoder.id)) }
        if decoder.isFakeNode { warnings.append(.fakeNode(subject: decoder.id)) }
        let runs = runs.filter { $0.decoder == decoder.id && $0.round > 0 }
        if let reason = runs.lazy.compactMap(\.result.absence).first { caution("Runs failed: \(reason)") }
        let measured = runs.compactMap(\.result.value)
        let failures = measured.reduce(0) { $0 + $1.failures }
        if failures > 0 {
            caution("The decoder failed \(Readable.count(failures, "time")), and a new one has continued the run.")
        }
        if measured.contains(where: { $0.frames != decoder.frames }) {
            caution("Not every run returned the \(Readable.count(decoder.frames, "frame")) of the comparison.")
        }
        if decoder.transfer == .zeroCopy, measured.contains(where: { $0.copiedFrames > 0 }) {
            caution(
                "Pictures were copied to memory: random access points are too far apart, or the pictures too large."
            )
        }
        return warnings
    }

    private var inputWarnings: [BenchmarkReport.Warning] {
        var warnings: [BenchmarkReport.Warning] = []
        if input.losses > 0 {
            let message = "The input is damaged: \(Readable.count(input.losses, "part")) could not be read."
            warnings.append(.init(.caution, message))
        }
        if let most = decoders.map(\.damagedFrames).max(), most > 0 {
            let message =
                "The input is damaged: \(Readable.count(most, "frame")) may be wrong, left out of the comparison because "
                + "decoders conceal damage in different ways."
            warnings.append(.init(.caution, message))
        }
        switch input.limit {
        case .samples:
            warnings.append(.init(.note, "Only the first \(input.samples) samples of the input were decoded."))
        case .bytes:
            let message =
                "Only the first \(input.samples) samples were decoded: more than \(Readable.byteCount(Int64(input.bytes))) "
                + "are not kept in memory."
            warnings.append(.init(.caution, message))
        case nil: break
        }
        return warnings
    }

    private var speedWarnings: [BenchmarkReport.Warning] {
        var warnings: [BenchmarkReport.Warning] = []
        let unsteady = decoders.filter { decoder in
            guard let speed = figures(of: decoder).first(where: { $0.figure == .framesPerSecond })?.interval else {
                return false
            }
            return speed.count > 1 && speed.high - speed.low > 0.2 * speed.median
        }
        if !unsteady.isEmpty {
            let names = Readable.list(unsteady.map(\.id))
            warnings.append(.init(.caution, "Speeds vary by more than a fifth from round to round: \(names)."))
        }
        let times = runs.compactMap { $0.round > 0 ? $0.result.value?.wallTime : nil }
        if let shortest = times.min(), shortest < Self.shortestRun {
            let message =
                "Runs take only \(Readable.number(shortest * 1e3, places: 0)) ms: the beginning and the end of a stream, where "
                + "a decoder is not busy, count too much. Use a longer input, or a larger --frames."
            warnings.append(.init(.caution, message))
        }
        if repeats < 6 { warnings.append(.fewRepeats(repeats, per: "decoder")) }
        return warnings
    }

    /// The duration in seconds from which on the beginning and the end of a run are a small part of it.
    private static let shortestRun = 0.25
}

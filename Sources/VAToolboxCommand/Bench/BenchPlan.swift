// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import EncodingBenchmark
import MediaTypes
import RenderNodes

extension BenchPlanArguments {
    /// Whether no plan option was given.
    var isEmpty: Bool {
        let texts = [plan, encoders, clips, size, points, modes, fps]
        let numbers = [frames?.text, bitDepth?.text, repeats?.text, warmups?.text, price?.text]
        return !quick && !density && (texts + numbers).allSatisfy { $0 == nil }
    }

    /// Returns the plan that the options describe.
    ///
    /// - Parameters:
    ///   - read: Reads the file of a plan.
    ///   - hardware: Determines the encoders of the GPUs; called only if the plan requests them.
    /// - Throws: `invalidArgument`, and any error that `read` throws.
    func plan(
        read: (String) throws(MediaError) -> String,
        hardware: () -> [BenchmarkEncoder]
    ) throws(MediaError) -> BenchmarkPlan {
        if quick, plan != nil { throw contradiction("--quick", "--plan") }
        var result = quick ? BenchmarkPlan.quick : BenchmarkPlan()
        var words = BenchmarkPlan.usualEncoders.compactMap(EncoderWord.init(text:))
        if let plan {
            let name = plan.split(separator: "/").last.map(String.init) ?? plan
            let document = try PlanDocument(text: try read(plan), name: name)
            (result, words) = (document.plan, document.encoders)
        }
        if let encoders {
            words = try Self.list(encoders, "--encoders", EncoderWord.allowedText, EncoderWord.init(text:))
        }
        try apply(to: &result)
        let found = words.contains(where: \.needsHardware) ? hardware() : []
        for word in words {
            let encoders = word.encoders(hardware: found)
            if let node = word.node, encoders.isEmpty {
                throw MediaError(.unavailable, "the GPU cannot encode", given: node, remedies: [Self.probeRemedy])
            }
            result.encoders += encoders.filter { !result.encoders.contains($0) }
        }
        guard !result.encoders.isEmpty else {
            throw MediaError(.unavailable, "no GPU of this machine can encode", remedies: [Self.probeRemedy])
        }
        if let contradiction = result.contradictions.first {
            throw MediaError(.invalidArgument, "the plan contradicts itself: \(contradiction)")
        }
        return result
    }

    private static let probeRemedy = "find the reason: vatoolbox probe"

    private func apply(to plan: inout BenchmarkPlan) throws(MediaError) {
        if let clips { plan.clips = try Self.list(clips, "--clips") }
        if let size { plan.sizes = try Self.list(size, "--size") }
        if let points { plan.points = try Self.list(points, "--points") }
        if let modes { plan.modes = try Self.list(modes, "--modes") }
        if let fps { plan.frameRate = try Self.single(fps, "--fps") }
        if let frames { plan.frames = try frames.value(of: "--frames", in: 2...1_000_000) }
        if let bitDepth { plan.bitDepth = try bitDepth.value(of: "--bit-depth", in: [8, 10]) }
        if let repeats { plan.repeats = try repeats.value(of: "--repeats", in: 1...1000) }
        if let warmups { plan.warmups = try warmups.value(of: "--warmups", in: 0...1000) }
        if density, plan.density == nil { plan.density = DensityPlan() }
        if let price { plan.price = try price.value(of: "--price").value }
    }

    private static func single<Word: PlanText>(_ text: String, _ option: String) throws(MediaError) -> Word {
        let words: [Word] = try list(text, option)
        guard words.count == 1 else {
            throw MediaError(.invalidArgument, "\(option) takes one value", given: text, allowed: Word.allowedText)
        }
        return words[0]
    }

    private static func list<Word: PlanText>(_ text: String, _ option: String) throws(MediaError) -> [Word] {
        try list(text, option, Word.allowedText, Word.init(text:))
    }

    private static func list<Word>(
        _ text: String,
        _ option: String,
        _ allowed: String,
        _ read: (String) -> Word?
    ) throws(MediaError) -> [Word] {
        var words: [Word] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let word = read(String(part)) else {
                throw MediaError(.invalidArgument, "\(option) is not valid", given: String(part), allowed: allowed)
            }
            words.append(word)
        }
        return words
    }
}

extension ArgumentText<WholeNumber> {
    fileprivate func value(of option: String, in allowed: [Int]) throws(MediaError) -> Int {
        let value = try value(of: option).value
        if allowed.contains(value) { return value }
        let list = allowed.map(String.init).joined(separator: ", ")
        throw MediaError(.invalidArgument, "\(option) is out of range", given: text, allowed: list)
    }
}

extension ProbeReport {
    /// The encoders of its nodes for a benchmark: each codec that a driver lists, with each entrypoint.
    var benchmarkEncoders: [BenchmarkEncoder] {
        nodes.flatMap { node -> [BenchmarkEncoder] in
            guard case .answers(let driver, _) = node.driver else { return [] }
            var found: [BenchmarkEncoder] = []
            for (name, codec) in [("H264", VideoCodec.h264), ("HEVC", .hevc)] {
                for (entrypoint, isLowPower) in [("EncSlice", false), ("EncSliceLP", true)] {
                    let isListed = driver.encoders.contains {
                        "\($0.profile)".hasPrefix(name) && "\($0.entrypoint)" == entrypoint
                    }
                    guard isListed else { continue }
                    found.append(
                        .hardware(.init(node: node.node.path, codec: codec, isLowPower: isLowPower))
                    )
                }
            }
            return found
        }
    }
}

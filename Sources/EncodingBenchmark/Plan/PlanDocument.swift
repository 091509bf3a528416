// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A plan written by hand, in YAML or JSON. Its keys are those of ``BenchmarkPlan``, so the plan of a report is valid,
/// too; missing keys have their defaults. An unknown key or an invalid value is an error that lists what is allowed.
public struct PlanDocument: Sendable {
    /// The plan, without its encoders.
    public private(set) var plan = BenchmarkPlan()
    /// The texts of its encoders.
    public private(set) var encoders: [EncoderWord] = []

    /// Parses a plan.
    ///
    /// - Parameters:
    ///   - text: The text of the file. JSON is YAML, too; `PlanSyntax` describes the supported parts of YAML.
    ///   - name: The name of the file, for the plan and for errors.
    /// - Throws: `invalidArgument`.
    public init(text: String, name: String) throws(MediaError) {
        plan.name = name
        let reader = PlanReader(file: name)
        guard let node = try PlanSyntax.node(of: text, name: name), case .mapping(let mapping) = node.content else {
            throw MediaError(.invalidArgument, "\(name) is not a plan", allowed: "keys with values")
        }
        try reader.read(mapping, key: nil, Self.keys, into: &self)
        guard !encoders.isEmpty else {
            throw MediaError(.invalidArgument, "\(name) contains no encoders", allowed: EncoderWord.allowedText)
        }
    }

    private static let keys: [(String, PlanReader.Setter<PlanDocument>)] = [
        ("name", { reader, node, document throws(MediaError) in document.plan.name = try reader.text(node) }),
        ("clips", { reader, node, document throws(MediaError) in document.plan.clips = try reader.words(node) }),
        ("sizes", { reader, node, document throws(MediaError) in document.plan.sizes = try reader.words(node) }),
        ("frameRate", { reader, node, document throws(MediaError) in document.plan.frameRate = try reader.word(node) }),
        (
            "frames",
            { reader, node, document throws(MediaError) in document.plan.frames = try reader.whole(node, 2...1_000_000)
            }
        ),
        (
            "bitDepth",
            { reader, node, document throws(MediaError) in
                document.plan.bitDepth = try reader.whole(node, 8...10)
                if document.plan.bitDepth == 9 { throw reader.wrong(node, "9", allowed: "8, 10") }
            }
        ),
        (
            "pictureMemory",
            { reader, node, document throws(MediaError) in
                document.plan.pictureMemory = try reader.whole(node, (1 << 20)...(1 << 40))
            }
        ),
        (
            "encoders",
            { reader, node, document throws(MediaError) in
                document.encoders = try reader.list(node).map { (node) throws(MediaError) in
                    let text = try reader.text(node)
                    guard let word = EncoderWord(text: text) else {
                        throw reader.wrong(node, text, allowed: EncoderWord.allowedText)
                    }
                    return word
                }
            }
        ),
        (
            "points",
            { reader, node, document throws(MediaError) in document.plan.points = try reader.words(node, orNone: true) }
        ),
        ("modes", { reader, node, document throws(MediaError) in document.plan.modes = try reader.words(node) }),
        (
            "repeats",
            { reader, node, document throws(MediaError) in document.plan.repeats = try reader.whole(node, 1...1000) }
        ),
        (
            "warmups",
            { reader, node, document throws(MediaError) in document.plan.warmups = try reader.whole(node, 0...1000) }
        ),
        (
            "density",
            { reader, node, document throws(MediaError) in
                guard case .mapping(let mapping) = node.content else {
                    throw reader.wrong(node, nil, allowed: "keys with values")
                }
                var density = DensityPlan()
                try reader.read(mapping, key: "density", densityKeys, into: &density)
                document.plan.density = density
            }
        ),
        (
            "price",
            { reader, node, document throws(MediaError) in document.plan.price = try reader.number(node, 0...1e9) }
        ),
    ]

    private static let densityKeys: [(String, PlanReader.Setter<DensityPlan>)] = [
        (
            "mode",
            { reader, node, density throws(MediaError) in
                density.mode = try reader.word(node)
                guard density.mode == .throughput else { return }
                throw reader.wrong(node, density.mode.text, allowed: "real-time, low-latency")
            }
        ),
        (
            "rateShare",
            { reader, node, density throws(MediaError) in density.rateShare = try reader.number(node, 0.01...1) }
        ),
        (
            "latencyBound",
            { reader, node, density throws(MediaError) in
                density.latencyBound = try reader.number(node, 0.001...3600)
            }
        ),
        (
            "seconds",
            { reader, node, density throws(MediaError) in density.seconds = try reader.number(node, 0.1...3600) }
        ),
        (
            "maximumStreams",
            { reader, node, density throws(MediaError) in
                density.maximumStreams = try reader.whole(node, 1...1000)
            }
        ),
        (
            "confirmations",
            { reader, node, density throws(MediaError) in
                density.confirmations = try reader.whole(node, 1...99)
            }
        ),
    ]
}

/// Reads the nodes of a plan's file, and reports errors with their position.
struct PlanReader {
    typealias Setter<Value> = @Sendable (PlanReader, PlanNode, inout Value) throws(MediaError) -> Void

    let file: String
    private var key = ""

    init(file: String) { self.file = file }

    /// Passes each key of a mapping to the setter of that name.
    func read<Value>(
        _ mapping: [PlanNode.Pair],
        key outer: String?,
        _ setters: [(String, Setter<Value>)],
        into value: inout Value
    ) throws(MediaError) {
        for pair in mapping {
            var reader = self
            reader.key = [outer, pair.key.scalar].compactMap(\.self).joined(separator: ".")
            guard let name = pair.key.scalar, let setter = setters.first(where: { $0.0 == name }) else {
                throw MediaError(
                    .invalidArgument,
                    "\(reader.place(pair.key)) has an unknown key",
                    given: reader.key,
                    allowed: setters.map(\.0).joined(separator: ", ")
                )
            }
            try setter.1(reader, pair.value, &value)
        }
    }

    func list(_ node: PlanNode) -> [PlanNode] {
        if case .sequence(let sequence) = node.content { sequence } else { [node] }
    }

    func text(_ node: PlanNode) throws(MediaError) -> String {
        guard let text = node.scalar else { throw wrong(node, nil, allowed: "a word") }
        return text
    }

    func word<Word: PlanText>(_ node: PlanNode) throws(MediaError) -> Word {
        let text = try text(node)
        guard let word = Word(text: text) else { throw wrong(node, text, allowed: Word.allowedText) }
        return word
    }

    func words<Word: PlanText>(_ node: PlanNode, orNone: Bool = false) throws(MediaError) -> [Word] {
        let words = try list(node).map { (node) throws(MediaError) in try word(node) as Word }
        if words.isEmpty, !orNone { throw wrong(node, "nothing", allowed: Word.allowedText) }
        return words
    }

    func whole(_ node: PlanNode, _ allowed: ClosedRange<Int>) throws(MediaError) -> Int {
        let text = try text(node)
        guard let number = DecimalNumber(text)?.wholeValue, allowed.contains(number) else {
            throw wrong(node, text, allowed: "a whole number from \(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return number
    }

    func number(_ node: PlanNode, _ allowed: ClosedRange<Double>) throws(MediaError) -> Double {
        let text = try text(node)
        guard let number = DecimalNumber(text)?.doubleValue, allowed.contains(number) else {
            throw wrong(node, text, allowed: "a number from \(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return number
    }

    func wrong(_ node: PlanNode, _ given: String?, allowed: String) -> MediaError {
        MediaError(.invalidArgument, "\(key) of \(place(node)) is not valid", given: given, allowed: allowed)
    }

    private func place(_ node: PlanNode) -> String { "\(file), line \(node.line)," }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What an encoder in a helper process is to play, as a text that fits where an encoder's device is named.
package struct RemotePart: Sendable {
    /// Where the test listens, and under which number it waits for this encoder.
    package var address = ""
    package var ticket = 0
    /// Which encoder of the test it is, and which of its candidate.
    package var id = 0
    package var attempt = 0
    package var script = InstanceScript()

    package init() {}

    package var text: String {
        var copy = self
        var writer = TextVisitor(words: [], isReading: false)
        copy.visit(&writer)
        return writer.words.joined(separator: "\u{1F}")
    }

    /// - Returns: `nil` if the text is of another make.
    package init?(text: String) {
        let words = text.split(separator: "\u{1F}", omittingEmptySubsequences: false).map { String($0) }
        var reader = TextVisitor(words: words, isReading: true)
        visit(&reader)
        if reader.isMalformed || !reader.words.isEmpty { return nil }
    }

    private mutating func visit(_ visitor: inout TextVisitor) {
        visitor.text(&address)
        visitor.number(&ticket)
        visitor.number(&id)
        visitor.number(&attempt)
        script.visit(&visitor)
    }
}

extension InstanceScript {
    fileprivate mutating func visit(_ visitor: inout TextVisitor) {
        visitor.name(&creation)
        visitor.list(
            &steps,
            write: { step in "\(step.key) \(step.value.rawValue)" },
            read: { words in Step(rawValue: words.last ?? "").flatMap { step in Int(words[0]).map { ($0, step) } } }
        )
        visitor.name(&drain)
        visitor.name(&update)
        visitor.adjustments(&updateAdjustments)
        visitor.number(&reorderDepth)
        visitor.maybe(&claimedReorderDepth)
        visitor.number(&lookahead)
        visitor.maybe(&keyFrameInterval)
        visitor.number(&formatID)
        visitor.number(&bytesPerFrame)
        visitor.flag(&hasCollector)
        visitor.flag(&isFailureFinal)
        visitor.options(&supportedProperties)
    }
}

/// Writes values as words, or reads them; each value is listed once for both.
private struct TextVisitor {
    var words: [String]
    let isReading: Bool
    var isMalformed = false

    private mutating func value<Value>(
        _ value: inout Value,
        write: (Value) -> String,
        read: (String) -> Value?
    ) {
        guard isReading else { return words.append(write(value)) }
        guard !words.isEmpty, let new = read(words.removeFirst()) else { return isMalformed = true }
        value = new
    }

    mutating func text(_ text: inout String) { value(&text, write: { $0 }, read: { $0 }) }

    mutating func number(_ number: inout some FixedWidthInteger) {
        value(&number, write: { "\($0)" }, read: { .init($0) })
    }

    mutating func maybe(_ number: inout Int?) {
        value(&number, write: { $0.map { "\($0)" } ?? "none" }, read: { $0 == "none" ? .some(nil) : Int($0) })
    }

    mutating func flag(_ flag: inout Bool) { value(&flag, write: { "\($0)" }, read: { Bool($0) }) }

    mutating func name<Name: RawRepresentable>(_ name: inout Name) where Name.RawValue == String {
        value(&name, write: { $0.rawValue }, read: { Name(rawValue: $0) })
    }

    mutating func list<Value>(
        _ dictionary: inout [Int: Value],
        write: (Dictionary<Int, Value>.Element) -> String,
        read: ([String]) -> (Int, Value)?
    ) {
        value(
            &dictionary,
            write: { $0.map(write).joined(separator: ",") },
            read: { text in
                let items = text.split(separator: ",").map { read($0.split(separator: " ").map { String($0) }) }
                return items.contains { $0 == nil } ? nil : Dictionary(uniqueKeysWithValues: items.compactMap(\.self))
            }
        )
    }

    mutating func options(_ options: inout Set<EncoderOption>) {
        value(
            &options,
            write: { $0.map(\.rawValue).sorted().joined(separator: ",") },
            read: { Set($0.split(separator: ",").map { EncoderOption(rawValue: String($0)) }) }
        )
    }

    mutating func adjustments(_ adjustments: inout [Adjustment]) {
        value(
            &adjustments,
            write: { list in
                list.map { [$0.property, $0.requested, $0.used, $0.reason].joined(separator: "\u{1D}") }
                    .joined(separator: "\u{1E}")
            },
            read: { text in
                let items = text.split(separator: "\u{1E}").map {
                    $0.split(separator: "\u{1D}", omittingEmptySubsequences: false).map { String($0) }
                }
                guard items.allSatisfy({ $0.count == 4 }) else { return nil }
                return items.map { Adjustment(property: $0[0], requested: $0[1], used: $0[2], reason: $0[3]) }
            }
        )
    }
}

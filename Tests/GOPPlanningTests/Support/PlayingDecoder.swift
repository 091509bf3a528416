// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture that a decoder model can be given.
protocol NumberedPicture {
    var number: Int64 { get }
}

/// A model of a decoder, of either codec.
protocol PlayingDecoder {
    associatedtype Picture: NumberedPicture

    /// Numbers of the pictures shown, in order.
    var shown: [Int64] { get }

    mutating func decode(_ picture: Picture) throws(Violation)

    /// Shows what waits.
    mutating func finish() throws(Violation)
}

extension PlayingDecoder {
    /// Decodes a stream to its end; each of its pictures from that number on has to be shown, in order.
    mutating func play(_ pictures: some Collection<Picture>, from first: Int64 = .min) throws(Violation) {
        for picture in pictures { try decode(picture) }
        try finish()
        let shown = shown.filter { $0 >= first }
        let wanted = pictures.map(\.number).filter { $0 >= first }.sorted()
        try require(shown == wanted, "shown are \(shown), wanted \(wanted)")
    }

    /// Plays what a receiver has that lacks pictures: everything has to be there and shown.
    ///
    /// - Returns: what was wrong.
    mutating func violations(of pictures: [Picture], without lacking: Set<Int64>) -> [String] {
        do throws(Violation) {
            try play(pictures.filter { !lacking.contains($0.number) })
            return []
        } catch {
            return ["without \(lacking.sorted()): \(error)"]
        }
    }
}

/// What came of playing a stream in several ways.
struct Findings {
    private(set) var all: [String] = []

    mutating func attempt(_ name: String, _ body: () throws(Violation) -> Void) {
        do throws(Violation) { try body() } catch { all.append("\(name): \(error)") }
    }
}

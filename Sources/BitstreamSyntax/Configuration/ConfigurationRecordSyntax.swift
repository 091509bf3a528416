// SPDX-License-Identifier: GPL-2.0-or-later

/// The elements that avcC and hvcC have in common.
extension SyntaxVisitor {
    /// `lengthSizeMinusOne`, two bits.
    mutating func lengthSize(_ size: inout NALUnitFraming.LengthSize) throws(BitstreamError) {
        let start = bitPosition
        var sizeMinusOne = UInt32(size.rawValue - 1)
        try u("lengthSizeMinusOne", bits: 2, &sizeMinusOne)
        guard let known = NALUnitFraming.LengthSize(rawValue: Int(sizeMinusOne) + 1) else {
            throw BitstreamError(field: "lengthSizeMinusOne", bitPosition: start, reason: .invalidCode)
        }
        size = known
    }

    /// The chroma format in two bits.
    mutating func recordChromaFormat(
        _ name: @autoclosure () -> String,
        _ format: inout ChromaFormat
    ) throws(BitstreamError) {
        var number = format.rawValue
        try u(name(), bits: 2, &number)
        format = ChromaFormat(rawValue: number) ?? format
    }

    /// The number of NAL units in `countBits` bits, then each unit with its length in 16 bits.
    mutating func nalUnits(
        count countName: @autoclosure () -> String,
        bits countBits: Int,
        name: String,
        _ units: inout [[UInt8]]
    ) throws(BitstreamError) {
        var count = UInt32(clamping: units.count)
        try u(countName(), bits: countBits, &count)
        try resize(name, &units, to: Int(count), with: [])
        for index in units.indices {
            var length = UInt32(clamping: units[index].count)
            try u("\(name)Length[\(index)]", bits: 16, &length)
            try bytes("\(name)[\(index)]", &units[index], count: Int(length))
        }
    }
}

/// A record with elements that fill whole bytes and need no emulation prevention.
protocol ConfigurationRecord: SyntaxStructure {}

extension ConfigurationRecord {
    /// Parses the elements from the content of a box.
    mutating func read(box: some Collection<UInt8>) throws(BitstreamError) {
        var reader = SyntaxReader(BitReader(Array(box)), hasTrailingBits: false)
        try visit(&reader)
    }

    /// Returns the content of a box.
    func writtenBox() throws(BitstreamError) -> [UInt8] {
        var writer = SyntaxWriter()
        var copy = self
        try copy.visit(&writer)
        return writer.writer.bytes
    }
}

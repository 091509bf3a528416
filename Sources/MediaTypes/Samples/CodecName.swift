// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

extension FormatDescription {
    /// The codec with its profile and level in the form of RFC 6381, as playlists and MIME types state it:
    /// `avc1.640028` (ISO/IEC 14496-15 Annex E.2) or `hvc1.1.6.L93.B0` (E.3); `nil` if the parameter sets cannot be read.
    ///
    /// It is that of a track whose samples carry no parameter sets.
    public var codecName: String? {
        guard let record = try? decoderConfigurationRecord() else { return nil }
        switch codec {
        case .h264:
            // AVCProfileIndication, profile_compatibility and AVCLevelIndication: 5.3.3.1.2.
            guard record.count > 3 else { return nil }
            return "avc1." + record[1...3].map { Self.hexadecimal(UInt64($0), digits: 2) }.joined()
        case .hevc:
            // General profile space, tier, profile, compatibility flags, constraint flags and level: 8.3.3.1.2.
            guard record.count > 12 else { return nil }
            let space = ["", "A", "B", "C"][Int(record[1] >> 6)]
            let tier = record[1] & 0x20 == 0 ? "L" : "H"
            var flags = record[2...5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            var reversed: UInt32 = 0
            for _ in 0..<32 {
                reversed = reversed << 1 | flags & 1
                flags >>= 1
            }
            var constraints = Array(record[6...11])
            while constraints.last == 0 { constraints.removeLast() }
            let parts =
                [
                    "hvc1", "\(space)\(record[1] & 0x1F)", String(reversed, radix: 16, uppercase: true),
                    "\(tier)\(record[12])",
                ] + constraints.map { String($0, radix: 16, uppercase: true) }
            return parts.joined(separator: ".")
        }
    }

    private static func hexadecimal(_ value: UInt64, digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(digits - text.count, 0)) + text
    }
}

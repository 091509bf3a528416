// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// The location of the NAL units in a sample, and the position where parameter sets belong.
public struct AccessUnitLayout: Sendable, Hashable {
    /// The range of each unit in ``SampleBuffer/data``, without its length prefix, in order.
    public let units: [Range<Int>]
    /// The index in ``units`` at which parameter sets have to be inserted: after an access unit delimiter and before
    /// everything else (H.264 7.4.1.2.3, HEVC 7.4.2.4.4).
    public let parameterSetIndex: Int

    /// Whether the access unit begins with a delimiter.
    public var hasDelimiter: Bool { parameterSetIndex > 0 }
}

extension SampleBuffer {
    /// Finds the NAL units.
    ///
    /// - Throws: `malformedData` if a length is zero or exceeds the data, if a unit is shorter than its header, or if
    ///   there is no unit.
    public func accessUnitLayout() throws(MediaError) -> AccessUnitLayout {
        do {
            return try data.withUnsafeBytes { (bytes) throws(BitstreamError) in
                let units = try NALUnitFraming.lengthPrefixed(.four).nalUnits(in: bytes)
                guard let first = units.first else {
                    throw BitstreamError(field: "NALUnitLength", bitPosition: 0, reason: .truncated)
                }
                let header = try formatDescription.codec.nalUnitHeader(of: bytes[first])
                return AccessUnitLayout(units: units, parameterSetIndex: header.isAccessUnitDelimiter ? 1 : 0)
            }
        } catch {
            throw MediaError(.malformedData, "the sample's NAL units cannot be parsed: \(error)")
        }
    }

    /// Whether decoding can start here although this is no key frame, with correct pictures from a later one on. This
    /// is the case for a recovery point SEI message (H.264 D.2.8, HEVC D.3.8), as in intra refresh and H.264's open
    /// GOPs, and for an HEVC clean random access picture. `false` if the data is damaged.
    public var isRecoveryPoint: Bool { !isKeyFrame && randomAccess != .none }

    /// Returns the access unit as a byte stream (H.264 Annex B, HEVC Annex B). The data is copied once.
    ///
    /// An access unit delimiter of the sample stays at the front.
    ///
    /// - Parameters:
    ///   - withParameterSets: Whether to insert the parameter sets of ``formatDescription`` at the front.
    ///   - withDelimiter: Whether to insert an access unit delimiter at the front if there is none.
    /// - Throws: As ``accessUnitLayout()``.
    public func annexB(withParameterSets: Bool, withDelimiter: Bool = false) throws(MediaError) -> CodedData {
        let layout = try accessUnitLayout()
        var inserted: [[UInt8]] = []
        if withDelimiter, !layout.hasDelimiter {
            let first = layout.units[0]
            inserted = data.withUnsafeBytes { [formatDescription.codec.accessUnitDelimiter(before: $0[first])] }
        }
        if withParameterSets { inserted += formatDescription.parameterSets }
        return assemble(layout, inserting: inserted) { memory, prefix, _ in
            memory.storeBytes(of: UInt32(1).bigEndian, toByteOffset: prefix, as: UInt32.self)
        }
    }

    /// Returns the access unit with its parameter sets at the front, each unit with a four-byte length prefix, as in
    /// `avc3` and `hev1` tracks. The data is copied once.
    ///
    /// - Throws: As ``accessUnitLayout()``.
    public func lengthPrefixedWithParameterSets() throws(MediaError) -> CodedData {
        assemble(try accessUnitLayout(), inserting: formatDescription.parameterSets) { memory, prefix, length in
            memory.storeBytes(of: UInt32(clamping: length).bigEndian, toByteOffset: prefix, as: UInt32.self)
        }
    }

    /// Copies the data and inserts units at the position for parameter sets. Every unit has a four-byte prefix, which
    /// `setPrefix` writes; it receives the offset of the prefix and the length of the unit.
    private func assemble(
        _ layout: AccessUnitLayout,
        inserting inserted: [[UInt8]],
        setPrefix: (UnsafeMutableRawBufferPointer, _ prefix: Int, _ length: Int) -> Void
    ) -> CodedData {
        let units = layout.units
        let split = layout.hasDelimiter ? units[0].upperBound : 0
        let insertedCount = inserted.reduce(0) { $0 + 4 + $1.count }
        return data.withUnsafeBytes { source in
            CodedData(capacity: source.count + insertedCount) { memory in
                memory.copyBytes(from: source[..<split])
                var position = split
                for unit in inserted {
                    setPrefix(memory, position, unit.count)
                    UnsafeMutableRawBufferPointer(rebasing: memory[(position + 4)...]).copyBytes(from: unit)
                    position += 4 + unit.count
                }
                UnsafeMutableRawBufferPointer(rebasing: memory[position...]).copyBytes(from: source[split...])
                for unit in units {
                    let shift = unit.lowerBound < split ? 0 : insertedCount
                    setPrefix(memory, unit.lowerBound - 4 + shift, unit.count)
                }
                return source.count + insertedCount
            }
        }
    }
}

extension VideoCodec {
    /// Returns an access unit delimiter that allows all slice types: H.264 7.3.2.4 with `primary_pic_type` 7, HEVC
    /// 7.3.2.5 with `pic_type` 2, in the temporal sub-layer of the access unit's first unit (7.4.2.2).
    package func accessUnitDelimiter(before unit: some Collection<UInt8>) -> [UInt8] {
        switch self {
        case .h264: [0x09, 0xF0]
        // `nuh_temporal_id_plus1`, the last three bits of the header.
        case .hevc: [0x46, max(unit.dropFirst().first.map { $0 & 7 } ?? 1, 1), 0x50]
        }
    }
}

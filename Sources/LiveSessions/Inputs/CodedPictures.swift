// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import Capture
internal import MediaTypes

/// Makes samples of the access units of H.264 that a device delivers. A pure value.
///
/// A recording can only begin with a key frame that has parameter sets. After a gap, pictures until the next key frame may
/// be predicted from one that is missing, and are left out.
struct CodedPictures: Sendable {
    /// What becomes of a picture.
    enum Outcome: Sendable {
        /// It can be decoded.
        case sample(SampleBuffer)
        /// No picture could be decoded yet.
        case early
        /// It cannot be decoded, or not correctly.
        case lost
    }

    private(set) var format: FormatDescription?
    private var needsKeyFrame = true

    /// Leaves out what comes before the next key frame.
    mutating func skipToKeyFrame() { needsKeyFrame = true }

    /// Returns what becomes of the next picture.
    ///
    /// - Throws: `malformedData` if its parameter sets cannot be read.
    mutating func take(_ picture: CodedPicture) throws(MediaError) -> Outcome {
        if picture.lostBefore > 0 { needsKeyFrame = true }
        let content = AccessUnit(picture.data)
        let isChanged = try note(content.parameterSets)
        guard let format, !content.units.isEmpty, picture.isKeyFrame || !needsKeyFrame else {
            return format == nil ? .early : .lost
        }
        needsKeyFrame = false
        return .sample(
            SampleBuffer(
                data: CodedData(content.units),
                presentationTime: picture.time,
                // Cameras code pictures in their order.
                decodeTime: picture.time,
                duration: .invalid,
                isKeyFrame: picture.isKeyFrame,
                formatDescription: format,
                formatDescriptionChanged: isChanged
            )
        )
    }

    /// Registers parameter sets.
    ///
    /// - Returns: Whether they differ from those before.
    private mutating func note(_ sets: [[UInt8]]) throws(MediaError) -> Bool {
        // Both or none: a picture parameter set refers to a sequence parameter set.
        guard Set(sets.map { $0[0] & 0x1F }).isSuperset(of: [7, 8]), sets != format?.parameterSets else { return false }
        format = try FormatDescription(codec: .h264, parameterSets: sets)
        return true
    }

    /// The units of an access unit: H.264 table 7-1.
    private struct AccessUnit {
        /// Sequence and picture parameter sets.
        var parameterSets: [[UInt8]] = []
        /// All others, with length prefixes.
        var units: [UInt8] = []

        /// - Parameter data: A byte stream; what is damaged is left out.
        init(_ data: CodedData) {
            data.withUnsafeBytes { bytes in
                for range in (try? NALUnitFraming.annexB.nalUnits(in: bytes)) ?? [] {
                    let unit = bytes[range]
                    guard let first = unit.first else { continue }
                    if [7, 8].contains(first & 0x1F) {
                        parameterSets.append(Array(unit))
                    } else {
                        withUnsafeBytes(of: UInt32(clamping: unit.count).bigEndian) { units += $0 }
                        units += unit
                    }
                }
            }
        }
    }
}

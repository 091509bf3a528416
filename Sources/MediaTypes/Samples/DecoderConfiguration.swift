// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

extension FormatDescription {
    /// Returns the parameter sets as stored in containers with length-prefixed NAL units: the content of the box `avcC`
    /// (ISO/IEC 14496-15 5.3.3.1) or `hvcC` (8.3.3.1), without its size and type. NAL unit lengths have four bytes.
    ///
    /// - Parameter inBand: Whether samples carry parameter sets as well, as in `hev1` tracks; `hvcC` stores this.
    /// - Throws: `malformedData` if parameter sets cannot be parsed, are missing or too many.
    public func decoderConfigurationRecord(inBand: Bool = false) throws(MediaError) -> [UInt8] {
        do throws(BitstreamError) {
            switch codec {
            case .h264: return try AVCDecoderConfigurationRecord(nalUnits: parameterSets).bytes()
            case .hevc: return try HEVCDecoderConfigurationRecord(nalUnits: parameterSets, isComplete: !inBand).bytes()
            }
        } catch {
            throw MediaError(.malformedData, "the parameter sets cannot be read: \(error)")
        }
    }
}

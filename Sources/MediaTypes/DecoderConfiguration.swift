// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

extension FormatDescription {
    /// What containers with length-prefixed NAL units keep of the parameter sets: the content of the box `avcC`
    /// (ISO/IEC 14496-15 5.3.3.1), without its size and type. Lengths have four bytes.
    ///
    /// - Throws: `malformedData` if the parameter sets cannot be read or are too many; `unsupported` for HEVC.
    public func decoderConfigurationRecord() throws(MediaError) -> [UInt8] {
        guard codec == .h264 else {
            throw MediaError(.unsupported, "no decoder configuration is made for this codec", given: codec.rawValue)
        }
        do {
            return try AVCDecoderConfigurationRecord(nalUnits: parameterSets, lengthSize: .four).bytes()
        } catch {
            throw MediaError(.malformedData, "the parameter sets cannot be read: \(error)")
        }
    }
}

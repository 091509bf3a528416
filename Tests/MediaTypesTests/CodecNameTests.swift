// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@Suite struct CodecNameTests {
    private func description(_ codec: VideoCodec, _ sets: [[UInt8]]) -> FormatDescription {
        FormatDescription(codec: codec, width: 64, height: 64, parameterSets: sets)
    }

    /// Profile, constraints and level of the sequence parameter set: ISO/IEC 14496-15 Annex E.2.
    @Test func h264() throws {
        var sps = H264SequenceParameterSet()
        sps.profileIdc = 66
        (sps.constraintSet0Flag, sps.constraintSet1Flag) = (true, true)
        sps.levelIdc = 10
        #expect(description(.h264, [try sps.nalUnit()]).codecName == "avc1.42c00a")
        #expect(description(.h264, []).codecName == nil)
    }

    /// Fields that are zero at the end are left out, and the compatibility flags are reversed: Annex E.3.
    @Test func hevc() throws {
        var sps = HEVCSequenceParameterSet()
        sps.profileTierLevel.generalLevelIdc = 93
        sps.profileTierLevel.general.progressiveSourceFlag = true
        sps.profileTierLevel.general.frameOnlyConstraintFlag = true
        #expect(description(.hevc, [try sps.nalUnit()]).codecName == "hvc1.1.6.L93.90")
        sps.profileTierLevel.general.profileIdc = 2
        sps.profileTierLevel.general.profileCompatibilityFlags = 1 << (31 - 2)
        sps.profileTierLevel.general.tierFlag = true
        sps.profileTierLevel.general.profileSpace = 1
        sps.profileTierLevel.general.progressiveSourceFlag = false
        sps.profileTierLevel.general.frameOnlyConstraintFlag = false
        #expect(description(.hevc, [try sps.nalUnit()]).codecName == "hvc1.A2.4.H93")
    }
}

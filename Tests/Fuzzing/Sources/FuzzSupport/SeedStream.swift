// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax

/// NAL units of real streams, of x264 and x265, without start codes: whole parameter sets and messages, and the first
/// bytes of slices.
package struct SeedStream: Sendable {
    /// What codes it.
    package let codec: VideoCodec
    /// The units in the order of the stream.
    package let units: [[UInt8]]

    private init(_ codec: VideoCodec, _ units: String...) {
        self.codec = codec
        self.units = units.map { unit in
            let digits = Array(unit.utf8)
            return stride(from: 0, to: digits.count - 1, by: 2).map { index in
                UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0
            }
        }
    }

    /// The units of one kind.
    package func units(_ kind: UnitKind) -> [[UInt8]] { units.filter { UnitKind(codec, $0) == kind } }

    /// All of them.
    package static let all: [SeedStream] = [
        // Baseline
        SeedStream(
            .h264,
            "6742c00ad9047b011000000300100000030320f1226480",
            "68cb83cb20",
            "65888419f1088a8030238978085690003ad4596459400042",
            "419a38338d80",
            "419a540ee360",
            "419a6021fe784002739420b3200060a8d219d0a2b57de8ea"
        ),
        // B-frames, hierarchy, weights
        SeedStream(
            .h264,
            "6764000aacd9447b011000000300100000030320f1225960",
            "68ebe3cb22c0",
            "6588840067ccff9e30df03ef2a3110a943d55864a3e5e116",
            "419a246c425fd05d889fa1c2e5e3855a229b3ff2a7ff050c",
            "419e4278853ff87605",
            "019e617442df7bc0"
        ),
        // Interlaced, CBR, picture structure
        SeedStream(
            .h264,
            "67640015acd9444fcb80880000030008000003019301000f420003d09c98601f142996",
            "68fbacb22c",
            "06000593c6d0465180",
            "6588820b01afd05f4f0ca3dc492dc31c2f598a7946cfa132",
            "419a225e416f8367080b419c540a626c19f73b4bc5d787d1",
            "419e415f8827ffdc51ba92a481",
            "019e60df4411ff05e4"
        ),
        // Intra refresh, slices, captions
        SeedStream(
            .h264,
            "6764000aacd9047b011000000300100000030320f1225960",
            "68ef8f2c8b",
            "6588840067ccff9e30df03ef2a3110a943d55864a3e5e116",
            "65288840047ff31f92347f0fe8ca32474e8605e72a349eb7",
            "65122210019fbb4b9a6ef6fe9703a4b15410976af6b2c92b",
            "6764000aacd9047b011000000300100000030320f1225960",
            "68ef8f2c8b",
            "060602344080",
            "419a241885bffe30da4b06289fec4014adcae957fea1f26c",
            "4129a2418843fffeb6f40f17ef2254ccebe5562420a1fe59",
            "411268906216fffeadd079a3f13df1a40ac85805ab26e35f"
        ),
        // 10 bits, 4:2:2, custom matrices
        SeedStream(
            .h264,
            "677a000ab6cd9447b011000003000100000300320f122596",
            "68ebe3cb3002c0",
            "6588840067ccff9e30deed3ef48ddb386f0dadf8fac2adda",
            "419a246c425fceaa24fe87cbcdb4bcfc721da99fbcaafa08",
            "419e4278853ff87605",
            "019e617442df7bc0"
        ),
        // 4:4:4, lossless
        SeedStream(
            .h264,
            "67f4000a91d6411ec044000003000400000300c83c489920",
            "68ebc06bcb",
            "658884afd7e3c080915091617e3afb5fd92c2c85c540b54c",
            "419a3b1afedaaa16",
            "419a4f0864ca61affedaaa17",
            "419a727843c994c0d7ac8e86b6344e9ffff1ee295c78e268"
        ),
        // Open groups, full VUI
        SeedStream(
            .h264,
            "6764000aacd9447b01a7010101a5000003000100000300320f122596",
            "68ebe3cb22c0",
            "6588840077d2acfd78d9d39d8e00530ae2a3997d6aa3072a",
            "6764000aacd9447b01a7010101a5000003000100000300320f122596",
            "68ebe3cb22c0",
            "060601c480",
            "418888c097d74766b318176ca22a098f2a7fa90ac334eac6",
            "419e4178863ffef2eca4f10ff51d007da181",
            "019e626a439ff94868"
        ),
        // Main
        SeedStream(
            .hevc,
            "40010c01ffff01600000030090000003000003001e959809",
            "42010101600000030090000003000003001ea02083165959ae4caf016808000003000800000300c840",
            "4401c173d089",
            "2801af1d80627e12e67953b6fd67862daf1ecf8156d8e2f7",
            "0201d0294be10c6390b6a7260b5ff59fffea99a1b0150bc7",
            "0201e0649d786124dc47c6770b40",
            "0001e024f55fa2c298f02efec3de7946b5846440",
            "0001e044d75fa2c288f02efec3de7946b5846440",
            "0001e086b7fd4614c08a7e80"
        ),
        // Main10, HDR10
        SeedStream(
            .hevc,
            "40010c01ffff02200000030090000003000003001e959809",
            "42010102200000030090000003000003001ea020831365959ae4caf016a122012080000003008000000c84",
            "4401c173d089",
            "4e01900403e8019080",
            "4e01891833c286c41d4c0bb884d03e803d13404200989680000003003280",
            "2801af1d80c4d4dba69db7eb3c316d78f67c0ab6c717bd59",
            "0201d0294be10c6390fe60b5ff59fffea99a1b0150bc7ece",
            "0201e0649d786124f047ff411ffca3801a50382d39c32a",
            "0001e024f55fa2c298dc283dd4",
            "0001e044d75fa2c288dc283dd4",
            "0001e086b7fd4614c08a7e80"
        ),
        // HRD, access unit delimiters
        SeedStream(
            .hevc,
            "460110",
            "40010c01ffff01600000030090000003000003003c959809",
            "42010101600000030090000003000003003ca02083165959ae4caf016808000003000800000300cb0064b2f000927800"
                + "249f90",
            "4401c173d089",
            "4e0181010f80",
            "4e01000780004f1c01194c80",
            "2801af0de0a6f157b15a289e9c3f9db0bed8bcbcdab0c772",
            "460130",
            "0201d0294be10c608d982635f01df55cf34d6c9e01c07b2d",
            "0201e0649d7860a5fdf480c8a5b128917cfac1526bd1df5d",
            "0001e024f55fa2c15efce8337060536ad0449474e40c372c",
            "0001e044d75fa2c15afce8337060536ad0449474e40c372c",
            "0001e086b7fd460af0fce4327b03c1b4567d82af7b206fb7"
        ),
        // Slices, scaling lists, lossless units
        SeedStream(
            .hevc,
            "40010c01ffff01600000030090000003000003001e959809",
            "42010101600000030090000003000003001ea02083165959ae4e5780b4040000030004000003006420",
            "4401c177d409",
            "2801af1d627fce733cf4ea7e8e618b6bc7b3dace9a930bc6",
            "280133c740",
            "0201d0294be10c63a0feb3a48f7d419e26875f8989a8d82c",
            "0201640a52f84318e8",
            "0201e0649d786128f323fff0259b8bde2af6e7afe8c0",
            "0001e024f55fa2c290b01880",
            "000168093d57e8b0a4",
            "0001e044d75fa2c290b01880"
        ),
        // Temporal layers, weights, open groups
        SeedStream(
            .hevc,
            "40010c02ffff01600000030090000003000003001e00009598acc048",
            "42010201600000030090000003000003001e0000a020831659598acd7265780b4040000003004000000642",
            "4401c173d889",
            "2801af1d80bfeb337e38c182cd80467f67d285da1d988500",
            "40010c02ffff01600000030090000003000003001e00009598acc048",
            "42010201600000030090000003000003001e0000a020831659598acd7265780b4040000003004000000642",
            "4401c173d889",
            "2a01ac0cadc720c23bfe9dc9fc7082a7f691e089641e48e8",
            "1201e04497e043061640f23623a59c80",
            "1001e024fffa22180c3580e7e5ac",
            "0201d0295784318e4017de985bfea190",
            "0402e084bf810c18538a7e80"
        ),
        // 4:2:2, wavefront, no loop filter
        SeedStream(
            .hevc,
            "40010c01ffff0408000003009d0800000300001e959809",
            "4201010408000003009d0800000300001eb02083165959aaf0bc05a02000000300200000030321",
            "4401c173d0d240",
            "2801ac74e3aca33e38c0233fb3e942ed0ecc428007de0d44",
            "0201d0294b84318e80ddefebcdb6a47d75ca359f86c360e7",
            "0201e0649d6184a0e12beb2c4962001bcefbfd0f28",
            "0001e024f55e8b0a4039615880",
            "0001e044d75e8b0a4039615880",
            "0001e086b7f5185292ff40"
        ),
    ]
}

/// What a NAL unit of either codec is about.
package enum UnitKind: Hashable, Sendable {
    /// VPS, SPS and PPS.
    case videoSet, sequenceSet, pictureSet
    /// A slice, or a slice segment.
    case slice
    /// SEI, of HEVC that which precedes slices.
    case message

    /// Reads it from the unit's header; `nil` for what the fuzzers do not read.
    package init?(_ codec: VideoCodec, _ unit: [UInt8]) {
        switch codec {
        case .h264:
            switch (try? H264NALUnitHeader(nalUnit: unit))?.nalUnitType {
            case .sequenceParameterSet: self = .sequenceSet
            case .pictureParameterSet: self = .pictureSet
            case .slice, .idrSlice: self = .slice
            case .sei: self = .message
            default: return nil
            }
        case .hevc:
            switch (try? HEVCNALUnitHeader(nalUnit: unit))?.nalUnitType {
            case .videoParameterSet: self = .videoSet
            case .sequenceParameterSet: self = .sequenceSet
            case .pictureParameterSet: self = .pictureSet
            case .prefixSEI: self = .message
            case let type? where type.rawValue < 32: self = .slice
            default: return nil
            }
        }
    }
}

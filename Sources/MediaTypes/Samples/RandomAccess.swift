// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// Whether decoding can begin at a sample, and which of the pictures after it are then correct.
public enum RandomAccess: Sendable, Hashable {
    /// Decoding cannot begin here.
    case none
    /// Decoding can begin here, with correct pictures from a later one on, as in intra refresh: a recovery point SEI
    /// message with a distance. For H.264 (D.2.8), the distance counts the pictures to which others refer; for HEVC
    /// (D.3.8), it is at least the number of pictures that are presented in between.
    case gradual(distance: Int)
    /// The picture and all that are presented after it are correct. Those that are presented before it may refer to
    /// pictures before it: an HEVC clean random access or broken link access picture, or an H.264 picture with a recovery
    /// point SEI message without a distance, as in open GOPs.
    case open
    /// The picture and all that follow in decoding order are correct: an IDR picture.
    case closed
}

extension SampleBuffer {
    /// Whether decoding can begin at this sample, as its NAL units say. `none` if the data is damaged.
    public var randomAccess: RandomAccess {
        let codec = formatDescription.codec
        return data.withUnsafeBytes { bytes in
            guard let units = try? NALUnitFraming.lengthPrefixed(.four).nalUnits(in: bytes) else { return .none }
            var recovery = RandomAccess.none
            for unit in units {
                guard let header = try? codec.nalUnitHeader(of: bytes[unit]) else { return .none }
                if header.isVideoCodingLayer { return header.isIDR ? .closed : header.isKeyFrame ? .open : recovery }
                guard header.isPrefixSEI else { continue }
                let messages = try? SEIMessage.messages(in: bytes[unit], codec: codec)
                if let message = messages?.last(where: { $0.type == .recoveryPoint }) {
                    recovery = codec.randomAccess(atRecoveryPoint: message.payload)
                }
            }
            return .none
        }
    }

    /// Whether no other picture refers to this one, so that it can be left out, as its NAL units say: `nal_ref_idc` of
    /// zero (H.264 7.4.1), a sub-layer non-reference picture (HEVC 7.4.2.2) of the highest temporal sub-layer. `false` if
    /// the data is damaged.
    public var isDisposable: Bool {
        let codec = formatDescription.codec
        return data.withUnsafeBytes { bytes in
            guard let units = try? NALUnitFraming.lengthPrefixed(.four).nalUnits(in: bytes) else { return false }
            for unit in units {
                switch codec {
                case .h264:
                    guard let header = try? H264NALUnitHeader(nalUnit: bytes[unit]) else { return false }
                    if header.isVideoCodingLayer { return header.nalRefIdc == 0 }
                case .hevc:
                    guard let header = try? HEVCNALUnitHeader(nalUnit: bytes[unit]) else { return false }
                    // Types below 16 are even if no picture of the same sub-layer refers to the picture; those of higher
                    // sub-layers may.
                    if header.isVideoCodingLayer {
                        return header.nalUnitType.rawValue < 16 && header.nalUnitType.rawValue % 2 == 0
                            && header.temporalId >= formatDescription.highestTemporalId
                    }
                }
            }
            return false
        }
    }
}

extension VideoCodec {
    fileprivate func randomAccess(atRecoveryPoint payload: [UInt8]) -> RandomAccess {
        let distance: Int? =
            switch self {
            case .h264: (try? H264RecoveryPoint(payload: payload)).map { Int($0.recoveryFrameCnt) }
            case .hevc: (try? HEVCRecoveryPoint(payload: payload)).map { Int($0.recoveryPocCnt) }
            }
        guard let distance else { return .gradual(distance: Self.longestRecovery) }
        return distance == 0 ? .open : .gradual(distance: distance < 0 ? Self.longestRecovery : distance)
    }

    /// The highest value of `recovery_frame_cnt`.
    private static let longestRecovery = 65535
}

extension FormatDescription {
    /// `sps_max_sub_layers_minus1` (HEVC 7.4.3.2.1), the first bits of the SPS behind its header and the number of the VPS; 6
    /// if there is no SPS.
    fileprivate var highestTemporalId: Int {
        let set = parameterSets.first { unit in unit.first.map { $0 >> 1 & 0x3F == 33 } == true }
        guard let byte = set?.dropFirst(2).first else { return 6 }
        return Int(byte >> 1 & 7)
    }
}

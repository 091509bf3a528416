// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import MediaTypes
internal import VAAPI

extension Profile {
    /// Converts a profile to its VA-API value; `nil` for profiles that no driver encodes.
    init?(_ profile: VideoProfile) {
        switch profile {
        case .h264Baseline: self.init(rawValue: VAProfileH264ConstrainedBaseline.rawValue)
        case .h264Main: self.init(rawValue: VAProfileH264Main.rawValue)
        case .h264High: self.init(rawValue: VAProfileH264High.rawValue)
        case .hevcMain: self.init(rawValue: VAProfileHEVCMain.rawValue)
        case .hevcMain10: self.init(rawValue: VAProfileHEVCMain10.rawValue)
        case .hevcMain12: self.init(rawValue: VAProfileHEVCMain12.rawValue)
        case .hevcMain422Bits10: self.init(rawValue: VAProfileHEVCMain422_10.rawValue)
        case .hevcMain422Bits12: self.init(rawValue: VAProfileHEVCMain422_12.rawValue)
        case .hevcMain444: self.init(rawValue: VAProfileHEVCMain444.rawValue)
        case .hevcMain444Bits10: self.init(rawValue: VAProfileHEVCMain444_10.rawValue)
        case .hevcMain444Bits12: self.init(rawValue: VAProfileHEVCMain444_12.rawValue)
        case .h264High10: return nil
        }
    }
}

extension Entrypoint {
    /// The full encoder, which uses shaders on Intel GPUs.
    static let encSlice = Entrypoint(rawValue: VAEntrypointEncSlice.rawValue)
    /// The low-power encoder, a fixed-function unit.
    static let encSliceLowPower = Entrypoint(rawValue: VAEntrypointEncSliceLP.rawValue)
}

extension PixelFormat {
    /// The VA-API format codes for such samples, preferred one first. Alpha is not part of a picture, and video
    /// processors may blend with it. A format without VA-API planes maps to the codes for its chroma format and bit
    /// depth.
    var fourCCs: [FourCC] {
        switch self {
        case .nv12: [.nv12]
        case .i420: [.i420]
        case .p010: [.p010]
        case .i012: [.p012]
        case .yuy2, .i422: [.yuy2]
        case .i210: [.y210]
        case .i212: [.y212]
        case .i444: [.ayuv, .xyuv]
        case .i410: [.y410]
        case .i412: [.y412]
        case .bgra: [.bgrx, .bgra]
        }
    }

    /// The preferred one of ``fourCCs``.
    var fourCC: FourCC { fourCCs[0] }

    /// Whether pictures in memory have the same layout as surfaces, so that nothing has to be rearranged.
    func lies(as fourCC: FourCC) -> Bool {
        fourCC.arrangement.map { $0 == arrangement } ?? fourCCs.contains(fourCC)
    }

    /// The picture formats from which surfaces of this format can be filled, preferred one first. For 4:2:0 of up to
    /// ten bits, only the layout of the surfaces, because other such pictures are converted before.
    var alikeForSurfaces: [PixelFormat] {
        if is420, bitDepth <= 10 { return [self] }
        let alike = PixelFormat.allCases.filter {
            $0.isYCbCr && $0 != self && $0.chromaFormat == chromaFormat && $0.bitDepth == bitDepth
        }
        return [self] + alike
    }
}

extension FourCC {
    /// The DRM format of each plane; empty for formats that are not used for surfaces.
    var planeFormats: [FourCC] {
        switch self {
        case .nv12: [.r8, .gr88]
        case .p010: [.r16, .gr1616]
        case .yuy2: [.yuyv]
        case .bgrx: [.xrgb8888]
        case .bgra: [.argb8888]
        default: []
        }
    }

    /// The positions of the samples of each component; `nil` for formats that encoders do not accept.
    var arrangement: SampleArrangement? {
        switch self {
        case .nv12: .semiPlanar(bitDepth: 8)
        case .p010: .semiPlanar(bitDepth: 10)
        case .p012: .semiPlanar(bitDepth: 12)
        case .yuy2: .packed422(bitDepth: 8)
        case .y210: .packed422(bitDepth: 10)
        case .y212: .packed422(bitDepth: 12)
        case .ayuv, .xyuv: .ayuv
        case .y410: .y410
        case .y412: .y412
        default: nil
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import MediaTypes
internal import VAAPI

extension Profile {
    /// What drivers call a profile; `nil` for those that no driver encodes.
    init?(_ profile: VideoProfile) {
        switch profile {
        case .h264Baseline: self.init(rawValue: VAProfileH264ConstrainedBaseline.rawValue)
        case .h264Main: self.init(rawValue: VAProfileH264Main.rawValue)
        case .h264High: self.init(rawValue: VAProfileH264High.rawValue)
        case .hevcMain: self.init(rawValue: VAProfileHEVCMain.rawValue)
        case .hevcMain10: self.init(rawValue: VAProfileHEVCMain10.rawValue)
        case .h264High10: return nil
        }
    }
}

extension Entrypoint {
    /// The full encoder, which uses shaders on Intel.
    static let encSlice = Entrypoint(rawValue: VAEntrypointEncSlice.rawValue)
    /// The low-power encoder, a fixed function.
    static let encSliceLowPower = Entrypoint(rawValue: VAEntrypointEncSliceLP.rawValue)
}

extension PixelFormat {
    /// The format of surfaces with such samples; 4:2:0 is what drivers encode.
    var renderTargetFormat: RTFormats {
        switch self {
        case .nv12, .i420: .yuv420
        case .p010: .yuv420Bits10
        case .yuy2: .yuv422
        case .bgra: .rgb32
        }
    }

    /// How VA-API calls it, the best name first. Alpha is no part of a picture, and processing units may blend by it.
    var fourCCs: [FourCC] {
        switch self {
        case .nv12: [.nv12]
        case .i420: [.i420]
        case .p010: [.p010]
        case .yuy2: [.yuy2]
        case .bgra: [.bgrx, .bgra]
        }
    }

    /// The best of ``fourCCs``.
    var fourCC: FourCC { fourCCs[0] }
}

extension FourCC {
    /// How DRM calls each of its planes; empty for what is no surface here.
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

    /// Bytes of a sample: 2 for P010, 1 for NV12.
    var bytesPerSample: Int { self == .p010 ? 2 : 1 }
}

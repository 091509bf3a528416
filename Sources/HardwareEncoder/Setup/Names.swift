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
    var renderTargetFormat: RTFormats { bitDepth > 8 ? .yuv420Bits10 : .yuv420 }

    /// How VA-API calls it; ``FourCC/p010`` for 10 bits, else ``FourCC/nv12``.
    var fourCC: FourCC { bitDepth > 8 ? .p010 : .nv12 }
}

extension FourCC {
    /// Bytes of a sample: 2 for P010, 1 for NV12.
    var bytesPerSample: Int { self == .p010 ? 2 : 1 }

    /// The format of surfaces of 4:2:0 with such samples.
    var renderTargetFormat: RTFormats { self == .p010 ? .yuv420Bits10 : .yuv420 }
}

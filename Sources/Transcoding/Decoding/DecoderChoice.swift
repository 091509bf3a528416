// SPDX-License-Identifier: GPL-2.0-or-later

public import VAToolbox

/// Where video is decoded.
public enum DecoderChoice: String, Sendable, Hashable, CaseIterable {
    /// ``FileDecoder``: a GPU if one decodes the input, otherwise the CPU. ``Transcoder``: the GPU of an encoder if it
    /// decodes the input and no picture has to be filtered on the CPU; otherwise the CPU.
    case auto
    /// A GPU. What it cannot decode is an error.
    case hardware
    /// libavcodec on the CPU.
    case software

    /// The devices that a decoder of a whole file may use.
    public var policy: DevicePolicy {
        switch self {
        case .auto: .preferHardware
        case .hardware: .requireHardware
        case .software: .requireSoftware
        }
    }
}

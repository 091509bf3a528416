// SPDX-License-Identifier: GPL-2.0-or-later

import CLibVA
import VAAPI

/// What drivers said of H.264, as they said it: the distribution's iHD 23.1.1 and radeonsi 22.3.6 on the chips of
/// `Tests/Drivers/node/vendor-drivers.txt`, and the reference driver's personas.
enum DriverNumbers: String, CaseIterable {
    case skylake, dg2, navi21, intel, amd, lowPower

    var vendor: String {
        switch self {
        case .skylake, .dg2: "Intel iHD driver for Intel(R) Gen Graphics - 23.1.1 ()"
        case .navi21: "Mesa Gallium driver 22.3.6 for AMD Radeon RX 6800 XT (navi21, LLVM 15.0.6, DRM 3.49, 6.1.0)"
        case .intel, .amd, .lowPower: "VAToolbox reference driver (\(rawValue))"
        }
    }

    var capabilities: [EncodeCapabilities] {
        let profiles = [VAProfileH264ConstrainedBaseline, VAProfileH264Main, VAProfileH264High]
        return entrypoints.flatMap { entrypoint in
            profiles.map { profile in
                Self.capabilities(
                    profile,
                    entrypoint,
                    attributes(entrypoint, isBaseline: profile == VAProfileH264ConstrainedBaseline),
                    surfaces
                )
            }
        }
    }

    static func capabilities(
        _ profile: VAProfile,
        _ entrypoint: VAEntrypoint,
        _ attributes: [ConfigAttribute: UInt32],
        _ surfaces: [(VASurfaceAttribType, Int32)] = []
    ) -> EncodeCapabilities {
        EncodeCapabilities(
            profile: Profile(rawValue: profile.rawValue),
            entrypoint: Entrypoint(rawValue: entrypoint.rawValue),
            attributes: attributes.map { ConfigAttributeValue($0.key, $0.value) },
            surfaces: SurfaceCapabilities(
                attributes: surfaces.map { SurfaceAttributeValue(type: $0.0.rawValue, flags: 1, value: $0.1) }
            )
        )
    }

    private var entrypoints: [VAEntrypoint] {
        switch self {
        case .skylake, .dg2, .lowPower: [VAEntrypointEncSliceLP]
        case .navi21, .amd: [VAEntrypointEncSlice]
        case .intel: [VAEntrypointEncSlice, VAEntrypointEncSliceLP]
        }
    }

    private func attributes(_ entrypoint: VAEntrypoint, isBaseline: Bool) -> [ConfigAttribute: UInt32] {
        switch self {
        case .skylake, .dg2:
            [
                .renderTargetFormat: self == .dg2 ? 0x20007 : 1, .rateControl: self == .dg2 ? 0x14D6 : 0x496,
                .packedHeaders: 0x1F, .interlaced: 0, .maximumReferences: 3, .maximumSlices: 0x100,
                .sliceStructure: 0x2C, .maximumWidth: 0x1000, .maximumHeight: 0x1000, .qualityRange: 7,
                .quantization: 1, .intraRefresh: 3, .skipFrame: 1, .regionsOfInterest: self == .dg2 ? 0x210 : 0x203,
                .dirtyRectangles: 4, .parallelRateControl: self == .dg2 ? 0 : 1, .maximumFrameSize: 3,
            ]
        case .navi21:
            [
                .renderTargetFormat: 1, .rateControl: 0x16, .packedHeaders: 0, .maximumReferences: 1,
                .maximumSlices: 0x80, .sliceStructure: 0x25, .qualityRange: 0x20, .rateControlExtension: 0x103,
                .maximumFrameSize: 1,
            ]
        case .intel:
            entrypoint == VAEntrypointEncSlice
                ? Self.reference(
                    rateControl: 0xC56,
                    references: isBaseline ? 4 : 0x20004,
                    structures: 0x16,
                    [.quantization: 1, .regionsOfInterest: 0x208, .maximumFrameSize: 1]
                )
                : Self.reference(
                    rateControl: 0x416,
                    references: 3,
                    structures: 0x14,
                    [.regionsOfInterest: 0x208, .maximumFrameSize: 1]
                )
        case .amd:
            [
                .renderTargetFormat: 1, .rateControl: 0x16, .packedHeaders: 0, .interlaced: 0, .maximumReferences: 1,
                .maximumSlices: 1, .sliceStructure: 0x14, .maximumWidth: 0x1000, .maximumHeight: 0x900,
                .intraRefresh: 0, .predictionDirection: 1,
            ]
        case .lowPower:
            Self.reference(rateControl: 0x10, references: 3, structures: 0x14, [.maximumSlices: 0x40])
        }
    }

    private static func reference(
        rateControl: UInt32,
        references: UInt32,
        structures: UInt32,
        _ others: [ConfigAttribute: UInt32]
    ) -> [ConfigAttribute: UInt32] {
        let common: [ConfigAttribute: UInt32] = [
            .renderTargetFormat: 1, .rateControl: rateControl, .packedHeaders: 0x1F, .interlaced: 0,
            .maximumReferences: references, .maximumSlices: 0x100, .sliceStructure: structures,
            .maximumWidth: 0x1000, .maximumHeight: 0x1000, .qualityRange: 7, .intraRefresh: 0,
            .predictionDirection: references > 0xFFFF ? 3 : 1,
        ]
        return common.merging(others) { $1 }
    }

    private var surfaces: [(VASurfaceAttribType, Int32)] {
        let nv12 = (VASurfaceAttribPixelFormat, Int32(0x3231_564E))
        let (least, height): (Int32, Int32) =
            switch self {
            case .amd: (16, 0x900)
            case .navi21: (0, 0x900)
            default: (32, 0x1000)
            }
        return [
            nv12, (VASurfaceAttribMinWidth, least), (VASurfaceAttribMinHeight, least),
            (VASurfaceAttribMaxWidth, 0x1000), (VASurfaceAttribMaxHeight, height),
        ]
    }
}

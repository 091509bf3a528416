// SPDX-License-Identifier: GPL-2.0-or-later

import RenderNodes

/// Kernel drivers of GPUs, real and virtual, on which no VA-API driver encodes or decodes.
enum KernelDriversWithoutVAAPI {
    /// Returns the reason why a kernel driver has no encoder, or no decoder; `nil` if the kernel driver is not listed.
    static func reason(_ name: String, isForDecoding: Bool) -> String? {
        let decodes = ["nouveau", "nvidia-drm", "nvidia"].contains(name)
        if decodes, isForDecoding { return nil }
        return switch name {
        case "nouveau": "Mesa's driver for it can only decode, on old GPUs"
        case "nvidia-drm", "nvidia":
            "NVIDIA's VA-API driver decodes only; NVIDIA's encoder is NVENC, which VAToolbox does not support"
        case "vgem", "vkms": "it is a virtual device for tests"
        case "vmwgfx", "qxl", "bochs-drm", "cirrus", "hyperv_drm", "vboxvideo", "simpledrm", "simple-framebuffer":
            "it is the display of a virtual machine or of the firmware"
        case "ast", "mgag200", "udl", "gud": "it is a display device without a GPU"
        case "panfrost", "panthor", "lima", "v3d", "vc4", "etnaviv", "msm", "tegra", "asahi", "powervr":
            "the \(isForDecoding ? "decoder" : "encoder") of such a chip is a V4L2 device, which VA-API does not cover"
        default: nil
        }
    }
}

/// Intel GPU families that were released when the iHD driver was already widely installed.
struct IntelFamily {
    var name: String
    /// The PCI device IDs from the kernel's list.
    var devices: Set<UInt16>
    /// The first iHD release whose release notes list the family, or a release before which no notes list it.
    var release: String

    /// Returns the family of a GPU; `nil` if it is not listed.
    static func of(_ pci: PCIFunction) -> IntelFamily? {
        guard pci.vendorID == 0x8086 else { return nil }
        return all.first { $0.devices.contains(pci.deviceID) }
    }

    /// From Intel's release notes (22.6.6, 23.3.5, 24.1.5, 25.2.6): the families that each lists, and those that it
    /// does not list yet.
    private static let all = [
        IntelFamily(name: "Meteor Lake", devices: [0x7D40, 0x7D45, 0x7D55, 0x7D60, 0x7DD5], release: "22.6"),
        IntelFamily(name: "Arrow Lake", devices: [0x7D41, 0x7D51, 0x7D67, 0x7DD1], release: "24.1"),
        IntelFamily(name: "Lunar Lake", devices: [0x6420, 0x64A0, 0x64B0], release: "24.2"),
        IntelFamily(
            name: "Battlemage",
            devices: [0xE202, 0xE209, 0xE20B, 0xE20C, 0xE20D, 0xE210, 0xE211, 0xE212, 0xE215, 0xE216],
            release: "24.2"
        ),
        IntelFamily(
            name: "Panther Lake",
            devices: [
                0xB080, 0xB081, 0xB082, 0xB083, 0xB084, 0xB085, 0xB086, 0xB087, 0xB08F, 0xB090, 0xB0A0, 0xB0B0,
            ],
            release: "25.2"
        ),
    ]
}

/// AMD GPUs without an encoder, according to AMD's data sheets.
enum AMDWithoutEncoder {
    /// Navi 24: Radeon RX 6300 to 6500 XT and their workstation variants.
    private static let devices: Set<UInt16> = [0x7421, 0x7422, 0x7423, 0x7424, 0x743F]

    static func contains(_ pci: PCIFunction) -> Bool { pci.vendorID == 0x1002 && devices.contains(pci.deviceID) }
}

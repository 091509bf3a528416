// SPDX-License-Identifier: GPL-2.0-or-later

/// A DRM render node: the device file through which an unprivileged process uses one GPU.
public struct RenderNode: Sendable, Hashable {
    /// Where the node is, such as `/dev/dri/renderD128`.
    public let path: String
    /// The number in the node's name; the kernel counts render nodes from 128.
    public let minor: UInt32
    /// Owner, group and mode; nil when the file could not be examined.
    public let file: DeviceFile?
    /// The name of the group that owns the node, where the system has a name for it.
    public let groupName: String?
    /// The kernel driver, such as `i915` or `amdgpu`: the driver's own word where the node opens, else that of sysfs.
    public let kernelDriver: String?
    /// The PCI function behind the node; nil for a GPU on another bus.
    public let pci: PCIFunction?
    /// The state of Intel's HuC firmware; nil where nobody tells.
    public let huC: HuCFirmware?
    /// Whether this process can use the node, found by opening it.
    public let access: Access
    /// The versions of the firmware that encodes, where the kernel tells them to everybody, as amdgpu does.
    public internal(set) var firmware: String?

    /// Whether this process can use a node.
    public enum Access: Sendable, Hashable {
        /// The node was opened for reading and writing.
        case accessible
        /// It was not, for the reason given.
        case refused(NodeRefusal)
    }
}

/// The state of Intel's HuC firmware, which rate control of low-power encoders runs on.
public enum HuCFirmware: Sendable, Hashable {
    /// The kernel has loaded it and it runs.
    case running
    /// It does not run: it was not loaded, or not accepted by the GPU.
    case notRunning
    /// The kernel has none for the GPU, or was told not to load it, with that `errno` of the driver.
    case unavailable(code: Int32)

    /// - Parameter status: The value of `I915_PARAM_HUC_STATUS`, or minus the `errno` of asking for it.
    init(status: Int32) {
        self = status < 0 ? .unavailable(code: -status) : status == 0 ? .notRunning : .running
    }
}

/// What `stat(2)` tells of a file that should be a device.
public struct DeviceFile: Sendable, Hashable {
    /// Whether the file is a device at all.
    public let kind: Kind
    /// The user that owns the file.
    public let owner: UInt32
    /// The group that owns the file.
    public let group: UInt32
    /// The permission bits, such as 0o660.
    public let permissions: UInt16

    /// Kinds of files that matter here.
    public enum Kind: Sendable, Hashable {
        /// A character device with its numbers; those of render nodes are 226 and 128 or more.
        case characterDevice(major: UInt32, minor: UInt32)
        /// A folder: what Docker makes of `-v` when the host has no such path.
        case directory
        /// A plain file.
        case regularFile
        /// A pipe, socket or block device.
        case other
    }
}

/// A function of a PCI device, as sysfs describes it.
public struct PCIFunction: Sendable, Hashable {
    /// Domain, bus, device and function, such as `0000:00:02.0`.
    public let address: String
    /// The vendor's number, such as 0x8086.
    public let vendorID: UInt16
    /// The vendor's number for the device, such as 0x9A49.
    public let deviceID: UInt16

    /// The vendor's name, where it is one whose GPUs, real or virtual, are met on servers.
    public var vendorName: String? {
        switch vendorID {
        case 0x1002: "AMD"
        case 0x10DE: "NVIDIA"
        case 0x1234: "QEMU"
        case 0x1414: "Microsoft"
        case 0x15AD: "VMware"
        case 0x1A03: "ASPEED"
        case 0x1AF4: "Red Hat (virtio)"
        case 0x8086: "Intel"
        default: nil
        }
    }
}

extension PCIFunction {
    /// Vendor and device as `lspci -n` writes them: `8086:9a49`.
    public var identifier: String {
        func hexadecimal(_ value: UInt16) -> String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: 4 - digits.count) + digits
        }
        return "\(hexadecimal(vendorID)):\(hexadecimal(deviceID))"
    }
}

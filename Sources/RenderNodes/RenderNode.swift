// SPDX-License-Identifier: GPL-2.0-or-later

/// A DRM render node: the device file through which an unprivileged process uses one GPU.
public struct RenderNode: Sendable, Hashable {
    /// The path of the node, such as `/dev/dri/renderD128`.
    public let path: String
    /// The minor number in the node's name; the kernel numbers render nodes from 128.
    public let minor: UInt32
    /// Owner, group and mode; nil if the file could not be examined.
    public let file: DeviceFile?
    /// The name of the group that owns the node, if it has one.
    public let groupName: String?
    /// The kernel driver, such as `i915` or `amdgpu`, as reported by the driver if the node can be opened, otherwise by
    /// sysfs.
    public let kernelDriver: String?
    /// The PCI function of the GPU; nil for a GPU on another bus.
    public let pci: PCIFunction?
    /// The state of Intel's HuC firmware; nil if it is not reported.
    public let huC: HuCFirmware?
    /// Whether this process can use the node, determined by opening it.
    public let access: Access
    /// The versions of the encoder firmware, if the kernel reports them to all users, as amdgpu does.
    public internal(set) var firmware: String?

    /// Whether this process can use a node.
    public enum Access: Sendable, Hashable {
        /// The node was opened for reading and writing.
        case accessible
        /// The node was not opened, for this reason.
        case refused(NodeRefusal)
    }
}

/// The state of Intel's HuC firmware, which low-power encoders require for rate control.
public enum HuCFirmware: Sendable, Hashable {
    /// The firmware is loaded and runs.
    case running
    /// The firmware does not run: it was not loaded, or the GPU did not accept it.
    case notRunning
    /// The kernel has no firmware for the GPU, or loading is disabled; with the `errno` of the driver.
    case unavailable(code: Int32)

    /// - Parameter status: The value of `I915_PARAM_HUC_STATUS`, or the negative `errno` of the query.
    init(status: Int32) {
        self = status < 0 ? .unavailable(code: -status) : status == 0 ? .notRunning : .running
    }
}

/// The result of `stat(2)` for a device file.
public struct DeviceFile: Sendable, Hashable {
    /// The kind of the file.
    public let kind: Kind
    /// The user that owns the file.
    public let owner: UInt32
    /// The group that owns the file.
    public let group: UInt32
    /// The permission bits, such as 0o660.
    public let permissions: UInt16

    /// The kinds of files that are distinguished.
    public enum Kind: Sendable, Hashable {
        /// A character device with its numbers; for render nodes, 226 and 128 or more.
        case characterDevice(major: UInt32, minor: UInt32)
        /// A folder, which Docker creates for `-v` if the host has no such path.
        case directory
        /// A regular file.
        case regularFile
        /// A pipe, socket or block device.
        case other
    }
}

/// A PCI function, as described by sysfs.
public struct PCIFunction: Sendable, Hashable {
    /// The address: domain, bus, device and function, such as `0000:00:02.0`.
    public let address: String
    /// The vendor ID, such as 0x8086.
    public let vendorID: UInt16
    /// The device ID, such as 0x9A49.
    public let deviceID: UInt16

    /// The name of the vendor, for vendors of real and virtual GPUs in servers.
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
    /// Vendor and device ID as printed by `lspci -n`: `8086:9a49`.
    public var identifier: String {
        func hexadecimal(_ value: UInt16) -> String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: 4 - digits.count) + digits
        }
        return "\(hexadecimal(vendorID)):\(hexadecimal(deviceID))"
    }
}

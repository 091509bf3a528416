// SPDX-License-Identifier: GPL-2.0-or-later

/// An open render node. It owns the descriptor and closes it when it is released.
public struct OpenRenderNode: ~Copyable, Sendable {
    /// The path that was opened.
    public let path: String
    /// The descriptor, open for reading and writing, close-on-exec. It is valid while this value exists.
    public let descriptor: Int32

    private let system: SystemCalls

    /// Opens a node for reading and writing (`O_RDWR | O_CLOEXEC`).
    ///
    /// - Throws: ``NodeRefusal`` with cause and remedies if the path does not refer to a character device that this
    ///   process may use. Whether it is a DRM node is not checked.
    public init(path: String) throws(NodeRefusal) {
        self = try NodeExaminer(root: "/", system: SystemCalls()).open(path)
    }

    init(path: String, descriptor: Int32, system: SystemCalls) {
        self.path = path
        self.descriptor = descriptor
        self.system = system
    }

    deinit { system.close(descriptor) }

    /// The name of the kernel driver, such as `i915`, as reported by the driver (`drmGetVersion`); nil if the device is
    /// not a DRM device.
    public var kernelDriver: String? { system.driverName(descriptor) }

    /// The state of Intel's HuC firmware; nil for kernel drivers other than `i915`, which reports it to all users.
    public var huC: HuCFirmware? { kernelDriver == "i915" ? HuCFirmware(status: system.huCStatus(descriptor)) : nil }
}

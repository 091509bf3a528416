// SPDX-License-Identifier: GPL-2.0-or-later

/// An open render node. Owns its descriptor and closes it at the end of its life.
public struct OpenRenderNode: ~Copyable, Sendable {
    /// The path that was opened.
    public let path: String
    /// The descriptor, open for reading and writing and closed on `exec`. It is valid while this value lives.
    public let descriptor: Int32

    private let system: SystemCalls

    /// Opens a node for reading and writing (`O_RDWR | O_CLOEXEC`).
    ///
    /// - Throws: ``NodeRefusal`` with cause and remedy when the path does not lead to a character device that this
    ///   process may use. That it is a DRM node is not checked.
    public init(path: String) throws(NodeRefusal) {
        self = try NodeExaminer(root: "/", system: SystemCalls()).open(path)
    }

    init(path: String, descriptor: Int32, system: SystemCalls) {
        self.path = path
        self.descriptor = descriptor
        self.system = system
    }

    deinit { system.close(descriptor) }

    /// The name that the kernel driver behind the node gives itself, such as `i915` (`drmGetVersion`); nil when the
    /// device is no DRM device.
    public var kernelDriver: String? { system.driverName(descriptor) }

    /// The state of Intel's HuC firmware; nil where the kernel driver is another than `i915`, which tells it to everybody.
    public var huC: HuCFirmware? { kernelDriver == "i915" ? HuCFirmware(status: system.huCStatus(descriptor)) : nil }
}

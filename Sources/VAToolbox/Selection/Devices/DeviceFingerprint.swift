// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import HardwareEncoder
import HelperIPC
import RenderNodes
import VAAPI

/// Everything that determines the behaviour of a device and is visible without asking its driver: the GPU, the driver
/// files that libva would load and their builds, the known drivers of this package, the kernel, the firmware, and the
/// helper program. When one of them changes, earlier results are no longer valid. A driver's version is part of its
/// build and of its vendor string, which a proof stores.
struct DeviceFingerprint: Sendable, Hashable {
    /// A short name of the device that survives a restart and is valid in a file name.
    let device: String
    /// The complete fingerprint as text.
    let text: String

    /// - Parameters:
    ///   - helper: The helper program in which it is tested and used.
    ///   - helperPath: The path of the program; `nil` for the default.
    ///   - knownDrivers: The known drivers of this package.
    init(
        _ node: RenderNode,
        _ helper: HelperProgram = .encoding,
        helperPath: String?,
        knownDrivers: String = KnownDrivers.text
    ) {
        func hexadecimal(_ value: UInt16) -> String { String(value, radix: 16) }
        device =
            node.pci.map { "\($0.address)-\(hexadecimal($0.vendorID))-\(hexadecimal($0.deviceID))" }
            ?? node.path.split(separator: "/").last.map(String.init) ?? "device"
        var parts = ["device \(device)", "version \(LibraryVersion.current)", "kernel \(Self.kernel)"]
        parts.append("kernel driver \(node.kernelDriver ?? "unknown")")
        if let firmware = node.firmware { parts.append("firmware \(firmware)") }
        if let driver = node.kernelDriver {
            parts += DriverSearch(kernelDriver: driver).files.map {
                "driver \(Self.file($0)) build \(ELFBuild.identifier(ofFile: $0) ?? "unknown")"
            }
        }
        parts.append("known drivers \(Fingerprint.of(knownDrivers))")
        parts.append("helper \((try? HelperLocation.find(helper, at: helperPath)).map(Self.file) ?? "none")")
        text = parts.joined(separator: "\n")
    }

    /// The kernel release and its build number.
    private static var kernel: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown" }
        func text(_ field: some Any) -> String {
            withUnsafeBytes(of: field) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(names.release)) \(text(names.version))"
    }

    /// The path, size and modification time of a file.
    private static func file(_ path: String) -> String {
        var status = stat()
        guard stat(path, &status) == 0 else { return "\(path) missing" }
        return "\(path) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
}

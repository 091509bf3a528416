// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import Glibc
import HardwareEncoder
import RenderNodes
import VAAPI

/// What decides what a device does, as far as it can be seen without asking its driver: which GPU it is, the files of the
/// drivers that libva would take with their builds, what this package knows of drivers, the kernel, the firmware, and the
/// encoder that was tried. Where one of them changes, what was found out before counts no more. A driver's version is in
/// its build, and in what it calls itself, which a proof keeps.
struct DeviceFingerprint: Sendable, Hashable {
    /// A short name for the device, the same after a restart; can be part of a file's name.
    let device: String
    /// All of it, in words and numbers.
    let text: String

    /// - Parameters:
    ///   - helperPath: The program that makes encoders; `nil` for the usual one.
    ///   - knownDrivers: What is known of drivers.
    init(_ node: RenderNode, helperPath: String?, knownDrivers: String = KnownDrivers.text) {
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
        parts.append("helper \((try? HelperLocation.find(helperPath)).map(Self.file) ?? "none")")
        text = parts.joined(separator: "\n")
    }

    /// The kernel's release and the number of its build.
    private static var kernel: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown" }
        func text(_ field: some Any) -> String {
            withUnsafeBytes(of: field) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(names.release)) \(text(names.version))"
    }

    /// A file's path, size and time of change.
    private static func file(_ path: String) -> String {
        var status = stat()
        guard stat(path, &status) == 0 else { return "\(path) missing" }
        return "\(path) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
}

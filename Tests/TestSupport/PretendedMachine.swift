// SPDX-License-Identifier: GPL-2.0-or-later

internal import Foundation
package import HostSystem

/// A root of a file system in a temporary folder, with what a kernel would show there. Deleted with the value.
package final class PretendedMachine {
    package let root: String

    package init(_ texts: [String: String] = [:]) throws {
        root = NSTemporaryDirectory() + "vatoolbox-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        for (path, text) in texts { try write(path, text) }
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    package var files: MachineFiles { MachineFiles(root: root) }

    package func write(_ path: String, _ text: String) throws {
        let url = URL(fileURLWithPath: root + path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    package func delete(_ path: String) throws { try FileManager.default.removeItem(atPath: root + path) }

    /// A file that nobody can read, root included: a folder in its place.
    package func block(_ path: String) throws {
        try? delete(path)
        try FileManager.default.createDirectory(atPath: root + path, withIntermediateDirectories: true)
    }

    /// What `/proc/cpuinfo` of x86 says.
    package static func cpuinfo(sockets: Int, cores: Int, threads: Int, flags: String = "fpu sse2 avx2") -> String {
        var number = 0
        return (0..<sockets).flatMap { socket in
            (0..<threads).flatMap { _ in
                (0..<cores).map { core in
                    defer { number += 1 }
                    return """
                        processor\t: \(number)
                        vendor_id\t: GenuineIntel
                        model name\t: Intel(R) Core(TM) i5-1135G7 @ 2.40GHz
                        microcode\t: 0xb8
                        physical id\t: \(socket)
                        core id\t\t: \(core)
                        flags\t\t: \(flags)
                        """
                }
            }
        }
        .joined(separator: "\n\n") + "\n\n"
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes

/// Programs of this package as they were built, beside the tests.
package enum BuiltProgram {
    /// - Throws: `unavailable` if it was not built.
    package static func path(_ name: String) throws(MediaError) -> String {
        var folder = testBundle
        while let slash = folder?.lastIndex(of: "/") {
            folder = folder.map { String($0[..<slash]) }
            let candidate = "\(folder ?? "")/\(name)"
            var status = stat()
            if access(candidate, X_OK) == 0, stat(candidate, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                return candidate
            }
        }
        throw MediaError(.unavailable, "the program was not built", given: name)
    }

    /// The tests are a library that a program of the toolchain has loaded.
    private static let testBundle: String? = {
        guard let maps = fopen("/proc/self/maps", "re") else { return nil }
        defer { fclose(maps) }
        var line = [CChar](repeating: 0, count: 8192)
        while fgets(&line, Int32(line.count), maps) != nil {
            let text = line.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            guard text.hasSuffix(".xctest\n"), let start = text.firstIndex(of: "/") else { continue }
            return String(text[start...].dropLast())
        }
        return nil
    }()
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibDRM
internal import Glibc

/// A system call that failed.
package struct SystemError: Error, Hashable {
    /// The name of the call, such as `open`.
    package let call: String
    /// The `errno` of the call.
    package let code: Int32

    /// The description of the code from the C library.
    package var text: String { String(cString: strerror(code)) }
}

/// The operating system interface of this module: the only place that calls it. Tests replace individual members to
/// simulate an `errno` or to present a regular file as a device.
package struct SystemCalls: Sendable {
    /// `stat(2)`: describes the file, following links.
    package var status: @Sendable (_ path: String) throws(SystemError) -> DeviceFile = SystemCalls.status
    /// `open(2)` with `O_RDWR | O_CLOEXEC`. The caller closes the descriptor.
    var openDevice: @Sendable (_ path: String) throws(SystemError) -> Int32 = SystemCalls.openDevice
    /// `close(2)`.
    var close: @Sendable (_ descriptor: Int32) -> Void = { _ = Glibc.close($0) }
    /// Lists the names in a folder, unordered, without `.` and `..`.
    package var names: @Sendable (_ folder: String) throws(SystemError) -> [String] = SystemCalls.names
    /// Reads the text of a small file, at most ``SystemCalls/textLimit`` bytes.
    package var text: @Sendable (_ path: String) throws(SystemError) -> String = SystemCalls.text
    /// `drmGetVersion(3)`: returns the name of the kernel driver of an open node.
    var driverName: @Sendable (_ descriptor: Int32) -> String? = SystemCalls.driverName
    /// Returns the HuC firmware status of the i915 driver of an open node, for ``HuCFirmware``.
    var huCStatus: @Sendable (_ descriptor: Int32) -> Int32 = { clibdrm_i915_huc_status($0) }
    /// `geteuid(2)`.
    var effectiveUser: @Sendable () -> UInt32 = { geteuid() }
    /// `getegid(2)` and `getgroups(2)`, sorted in ascending order without duplicates.
    var groups: @Sendable () -> [UInt32] = SystemCalls.groups

    /// An upper bound: all files that this module reads are much smaller.
    static let textLimit = 1 << 20

    /// Creates the interface to the actual operating system.
    package init() {}
}

extension SystemCalls {
    private static func status(_ path: String) throws(SystemError) -> DeviceFile {
        var status = stat()
        guard stat(path, &status) == 0 else { throw SystemError(call: "stat", code: errno) }
        let kind: DeviceFile.Kind =
            switch status.st_mode & S_IFMT {
            case S_IFCHR: .characterDevice(major: gnu_dev_major(status.st_rdev), minor: gnu_dev_minor(status.st_rdev))
            case S_IFDIR: .directory
            case S_IFREG: .regularFile
            default: .other
            }
        return DeviceFile(
            kind: kind,
            owner: status.st_uid,
            group: status.st_gid,
            permissions: UInt16(truncatingIfNeeded: status.st_mode & 0o7777)
        )
    }

    private static func openDevice(_ path: String) throws(SystemError) -> Int32 {
        let descriptor = retryingOnInterrupt { open(path, O_RDWR | O_CLOEXEC) }
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
        return descriptor
    }

    private static func names(_ folder: String) throws(SystemError) -> [String] {
        guard let stream = opendir(folder) else { throw SystemError(call: "opendir", code: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw SystemError(call: "readdir", code: errno) }
                return names
            }
            // In place: the record ends with the name and may be shorter than the C structure.
            let name = withUnsafeMutablePointer(to: &entry.pointee.d_name) { field in
                field.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    private static func text(_ path: String) throws(SystemError) -> String {
        let descriptor = retryingOnInterrupt { open(path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
        defer { _ = Glibc.close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count < textLimit {
            let count = retryingOnInterrupt { read(descriptor, &chunk, chunk.count) }
            guard count >= 0 else { throw SystemError(call: "read", code: errno) }
            if count == 0 { break }
            bytes += chunk.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func driverName(_ descriptor: Int32) -> String? {
        guard let version = drmGetVersion(descriptor) else { return nil }
        defer { drmFreeVersion(version) }
        guard let name = version.pointee.name else { return nil }
        return String(cString: name)
    }

    private static func groups() -> [UInt32] {
        let capacity = getgroups(0, nil)
        var groups = [UInt32](repeating: 0, count: Int(max(capacity, 0)))
        let count = getgroups(capacity, &groups)
        return Set(groups.prefix(Int(max(count, 0))) + [getegid()]).sorted()
    }

    private static func retryingOnInterrupt<Status: FixedWidthInteger>(_ call: () -> Status) -> Status {
        while true {
            let status = call()
            if status != -1 || errno != EINTR { return status }
        }
    }
}

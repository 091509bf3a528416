// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import HostSystem
internal import JobStore

/// How what an attempt has written becomes the result of its task: its folder is renamed, which happens or does not.
///
/// The folder contains the number of the attempt and what the task returns. After a crash, or if the store had to go back
/// to its backup, this tells what was published.
enum Publication {
    /// The file with the number and the result.
    static let marker = ".published"

    /// Puts what an attempt has written onto the disk, so that ``publish(_:as:in:)`` is short.
    ///
    /// - Parameter result: What the task returns, as JSON.
    static func prepare(_ token: AttemptToken, result: String, in data: DataFolder) throws(FileError) {
        let folder = data.work(token)
        try Files.replace("\(folder)/\(marker)", with: Array("\(token.rawValue)\n\(result)".utf8))
        try syncAll(folder)
    }

    /// Publishes it. When this returns, it survives a power loss.
    static func publish(_ token: AttemptToken, as task: TaskID, in data: DataFolder) throws(FileError) {
        let (from, to) = (data.work(token), data.results(task))
        try Files.makeFolder(data.results(task.job))
        if linux_rename_without_replacing(from, to) != 0 {
            // NFS and others do not know how not to replace.
            guard [EINVAL, ENOSYS].contains(errno) else { throw FileError("renameat2", to) }
            try move(from, to)
        }
        try Files.sync(data.results(task.job))
        try Files.sync(Files.folder(of: data.results(task.job)))
    }

    /// Renames a folder. Of folders, rename(2) replaces only empty ones, and what is published has the marker.
    static func move(_ from: String, _ to: String) throws(FileError) {
        guard rename(from, to) == 0 else { throw FileError("rename", to) }
    }

    /// What is published of a task: which attempt has done it, and what the task returns.
    static func published(_ task: TaskID, in data: DataFolder) throws(FileError) -> (
        token: AttemptToken, result: String
    )? {
        guard let bytes = try Files.read("\(data.results(task))/\(marker)", atMost: 256 << 20) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        guard parts.count == 2, let number = Int64(parts[0]) else { return nil }
        return (AttemptToken(rawValue: number), String(parts[1]))
    }

    /// Files first, then the folders that name them.
    private static func syncAll(_ folder: String) throws(FileError) {
        for name in try Files.names(in: folder) {
            let path = "\(folder)/\(name)"
            guard let status = try Files.status(path) else { continue }
            if status.isFolder { try syncAll(path) } else if status.isFile { try Files.sync(path) }
        }
        try Files.sync(folder)
    }
}

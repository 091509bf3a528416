// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import ServiceAPI

/// Copies the published results of a job to its destination.
struct Deliverer: Sendable {
    let data: DataFolder
    let stores: ObjectStores
    let roots: WritableRoots
    let transfers: PendingTransfers

    /// Checks the destination of a request.
    ///
    /// - Throws: `APIError` `not-found` if the service has no such place.
    func check(_ destination: Destination) throws(APIError) {
        if let path = destination.path { try roots.check(path, field: "/destination/path") }
        if let s3 = destination.s3 { _ = try stores.store(s3.store, field: "/destination/s3/store") }
    }

    private func target(_ destination: Destination) throws(APIError) -> any DeliveryTarget {
        try check(destination)
        if let s3 = destination.s3 {
            let store = try stores.store(s3.store, field: "/destination/s3/store")
            return S3Target(store: store, folder: s3, transfers: transfers)
        }
        return FolderTarget(roots: roots, path: destination.path ?? "", transfers: transfers)
    }

    /// Copies results. Files of an earlier attempt that are there already stay.
    ///
    /// - Parameters:
    ///   - results: What each task has published.
    ///   - onProgress: Is told the part of the bytes that are copied.
    /// - Throws: `TransferFailure`; `APIError`; `FileError`.
    func deliver(
        _ results: [(task: TaskID, result: TaskResult)],
        to destination: Destination,
        onProgress: @escaping @Sendable (Double) -> Void
    ) async throws -> [DeliveredFile] {
        let target = try target(destination)
        let files = Self.ordered(results.flatMap { task, result in result.files.map { (task, $0) } })
        let whole = Double(max(files.reduce(0) { $0 + $1.1.size }, 1))
        var done = 0
        var delivered: [DeliveredFile] = []
        for (task, file) in files {
            try Task.checkCancellation()
            let folder = data.results(task)
            guard let content = try await FileWork.run({ try ResultFiles.open(file.path, in: folder) }) else {
                throw TransferFailure.changed(file.path)
            }
            try await target.put(file, from: content, overwrites: destination.overwrite) { [done] bytes in
                onProgress(Double(done + bytes) / whole)
            }
            done += file.size
            delivered.append(
                DeliveredFile {
                    $0.path = file.path
                    $0.location = target.location(of: file.path)
                    $0.size = file.size
                    $0.sha256 = file.sha256
                }
            )
        }
        return delivered
    }

    /// Files that name others come after those.
    static func ordered(_ files: [(TaskID, ResultFile)]) -> [(TaskID, ResultFile)] {
        func rank(_ path: String) -> Int {
            // The playlist of a variant is in a folder, that of all variants is not.
            let isList = [".m3u8", ".mpd", ".vtt"].contains { path.hasSuffix($0) }
            return isList ? (path.contains("/") ? 1 : 2) : 0
        }
        return (0...2).flatMap { place in files.filter { rank($0.1.path) == place } }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore

/// Removes what clients have sent, and what is left of their jobs. The node that serves the API does it.
struct Housekeeping: Sendable {
    let data: DataFolder
    let uploads: UploadStore
    let deliveries: DeliveryStore

    /// Removes what is left of a job that was deleted: its files, the log of its reports, and its hold on an upload.
    func forget(_ id: JobID) async throws {
        await uploads.release(by: id)
        try await deliveries.remove(job: id.rawValue)
        try await FileWork.run { [data] in try data.removeFiles(of: id) }
    }

    /// Removes uploads whose time is over.
    func removeExpired() async { _ = await uploads.removeExpired() }
}

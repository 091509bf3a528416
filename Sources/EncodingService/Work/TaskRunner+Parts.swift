// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import Logging
internal import ServiceAPI

/// The parts of an output that several tasks encode, on any machines, before another one joins them.
extension TaskRunner {
    /// Finishes the chunks of a part, in the folder that all parts of the output share. Chunks appear whole or not at all, and
    /// an attempt that has lost its task does no harm there: so nothing is published, and the store alone decides.
    func encodePart(_ claim: Claim, _ logger: Logger) async throws {
        let request = try JobRequest.decode(json: Array(claim.request.utf8))
        let folder = data.work(claim.token)
        try await FileWork.run { try Files.makeFolder(folder) }
        let log = try JobLog(path: data.log(claim.task.job))
        let document = try await encode(claim, request, into: folder, log)
        let text = TaskResult(files: [], document: document).text
        try await complete(claim, result: text, logger) {}
        log.add("attempt \(claim.token.rawValue): finished its chunks")
        logger.info("attempt has succeeded", metadata: ["chunks": "\(document["chunks"]?["count"]?.integer ?? 0)"])
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import Logging
internal import ServiceAPI

/// The task that copies results to a destination. It publishes an empty folder, which says that this was done.
extension TaskRunner {
    func deliver(_ claim: Claim, _ logger: Logger) async throws {
        let token = claim.token
        let request = try JobRequest.decode(json: Array(claim.request.utf8), mode: .response)
        guard let destination = request.destination else {
            throw APIError(.internal, "The job has no destination")
        }
        let results = try claim.results.sorted { $0.key < $1.key }.map { index, text in
            guard let result = TaskResult(text: text) else { throw APIError(.internal, "A task has no result") }
            return (task: TaskID(job: claim.task.job, index: index), result: result)
        }
        let log = try JobLog(path: data.log(claim.task.job))
        log.add("attempt \(token.rawValue): delivers to \(destination.text)")
        let meter = ByteMeter(phase: .publishing)
        let delivered: [DeliveredFile]
        do {
            delivered = try await deliverer.deliver(results, to: destination) { [progress, changes] fraction in
                guard let value = meter.add(fraction, at: Clock.monotonic, date: Clock.now) else { return }
                progress.set(token, of: claim.task, value)
                changes.send()
            }
        } catch let failure as TransferFailure {
            log.add("attempt \(token.rawValue): \(failure.code.rawValue): \(failure.message)")
            throw failure
        }
        let text = TaskResult(delivered: delivered).text
        try await FileWork.run { [data] in
            try Files.makeFolder(data.work(token))
            try Publication.prepare(token, result: text, in: data)
        }
        try await complete(claim, result: text, logger) { [data] in
            try Publication.publish(token, as: claim.task, in: data)
        }
        log.add("attempt \(token.rawValue): delivered \(delivered.count) files")
        logger.info("results are delivered", metadata: ["files": "\(delivered.count)", "to": "\(destination.text)"])
    }
}

extension TaskResult {
    private static let deliveredKey = "delivered"

    /// The result of a delivery, which has no files of its own.
    init(delivered: [DeliveredFile]) {
        self.init(files: [], document: .object([Self.deliveredKey: .array(delivered.map(\.json))]))
    }

    /// The files that were delivered.
    var delivered: [DeliveredFile] {
        (document[Self.deliveredKey]?.elements ?? []).compactMap {
            try? DeliveredFile.decode(json: $0, mode: .response)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import ServiceClient
import ServiceCommandLine

/// `vatoolbox jobs`, `logs`, `drain`, `resume` and `status`.
struct JobsRun {
    private let client: ServiceClient
    private let impatient: ServiceClient
    private let isJSON: Bool

    init(_ options: ConnectionOptions, _ report: ReportOptions? = nil) throws {
        let connection = try Connection(options)
        client = try connection.client()
        impatient = try connection.impatientClient()
        isJSON = report?.json ?? false
    }

    init(_ chosen: ChosenJobs) throws { try self.init(chosen.connection, chosen.report) }

    /// The present time.
    static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// Makes sure that a service answers under the URL.
    private func check() async throws { _ = try await impatient.service() }

    private func show(_ value: some APIObject, _ text: @autoclosure () -> String) {
        ClientConsole.write(isJSON ? value.json.indentedBytes : Array(text().utf8))
    }

    func list(_ command: JobsCommand.List) async throws {
        try await check()
        var filter = JobFilter()
        filter.state = command.state
        filter.queue = command.queue
        filter.share = command.share
        filter.labels = LabelArgument.dictionary(command.label)
        var list = JobList()
        for try await job in client.jobs(filter) {
            list.jobs.append(job)
            if list.jobs.count == command.limit { break }
        }
        let width = isatty(STDOUT_FILENO) == 1 ? ClientConsole.width(of: STDOUT_FILENO) + 1 : 80
        show(list, list.jobs.isEmpty ? "no jobs\n" : JobTexts.table(list.jobs, width: width, now: Self.now))
    }

    func show(_ id: String) async throws {
        try await check()
        let job = try await client.job(id)
        show(job, JobTexts.page(job, now: Self.now))
    }

    /// Does something to jobs, one after the other, even if one of them does not permit it.
    func change(
        _ chosen: ChosenJobs,
        _ console: ClientConsole,
        _ work: (ServiceClient, String) async throws -> Job?
    ) async throws -> ClientStatus {
        try await check()
        var status = ClientStatus.done
        for id in chosen.jobs {
            do {
                guard let job = try await work(client, id) else { continue }
                let state = job.cancelRequested && !job.state.isFinal ? "cancelling" : job.state.rawValue
                ClientConsole.write(Array((isJSON ? job.json.text : "\(id) \(state)").utf8) + [UInt8(ascii: "\n")])
            } catch let error as ClientError {
                console.error("\(id): \(error.message)", remedies: error.remedies)
                status = .failed
            }
        }
        return status
    }

    func logs(_ command: LogsCommand) async throws {
        try await check()
        for try await piece in client.log(of: command.job, follows: command.follow) { ClientConsole.write(piece) }
    }

    func drain(_ command: DrainCommand) async throws {
        try await check()
        if let name = command.queue {
            let queue = try await client.drainQueue(name, waits: command.wait)
            show(queue, JobTexts.text(queue) + "\n")
        } else {
            show(try await client.drain(waits: command.wait))
        }
    }

    func resume(_ command: ResumeCommand) async throws {
        try await check()
        if let name = command.queue {
            let queue = try await client.resumeQueue(name)
            show(queue, JobTexts.text(queue) + "\n")
        } else {
            show(try await client.resume())
        }
    }

    private func show(_ status: NodeStatus) {
        let text = "\(status.running) running, \(status.waiting) waiting" + (status.draining ? ", draining" : "")
        show(status, text + "\n")
    }

    func status() async throws {
        try await check()
        let status = try await client.status()
        let capabilities = try await client.capabilities()
        let queues = try await client.queues()
        guard isJSON else {
            ClientConsole.write(Array(JobTexts.page(status, capabilities, queues, url: client.url).utf8))
            return
        }
        let all: JSONValue = [
            "status": status.json, "capabilities": capabilities.json, "queues": .array(queues.map(\.json)),
        ]
        ClientConsole.write(all.indentedBytes)
    }
}

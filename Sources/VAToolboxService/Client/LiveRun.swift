// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import ServiceClient
import ServiceCommandLine

/// `vatoolbox live`.
struct LiveRun {
    private let client: ServiceClient
    private let isJSON: Bool

    /// Makes sure that a service answers under the URL.
    init(_ options: ConnectionOptions, _ report: ReportOptions) async throws {
        let connection = try Connection(options)
        client = try connection.client()
        isJSON = report.json
        _ = try await connection.impatientClient().service()
    }

    private func show(_ value: some APIObject, _ text: @autoclosure () -> String) {
        ClientConsole.write(isJSON ? value.json.indentedBytes : Array(text().utf8))
    }

    func list(_ state: LiveState?) async throws {
        var list = LiveJobList()
        list.jobs = try await client.liveJobs(state: state)
        show(list, LiveTexts.list(list.jobs))
    }

    func start(_ path: String) async throws {
        let request: LiveRequest
        do {
            let bytes = Array(try Self.read(path))
            request = try LiveRequest.decode(json: bytes)
        } catch let error as APIError {
            throw UsageError("the request is not valid: \(error)")
        }
        let job = try await client.startLive(request)
        show(job, LiveTexts.line(job) + "\n")
    }

    private static func read(_ path: String) throws -> Data {
        do {
            if path == "-" { return try FileHandle.standardInput.readToEnd() ?? Data() }
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw UsageError("the request cannot be read from \(path): \(error.localizedDescription)")
        }
    }

    func show(_ id: String) async throws {
        let job = try await client.liveJob(id)
        show(job, LiveTexts.page(job))
    }

    func use(_ input: Int, of id: String) async throws {
        let job = try await client.switchLive(id, to: input - 1)
        show(job, LiveTexts.line(job) + "\n")
    }

    /// Does something to live jobs, one after the other, even if one of them does not permit it.
    func change(
        _ ids: [String],
        _ console: ClientConsole,
        _ work: (ServiceClient, String) async throws -> LiveJob?
    ) async throws -> ClientStatus {
        var status = ClientStatus.done
        for id in ids {
            do {
                guard let job = try await work(client, id) else { continue }
                show(job, LiveTexts.line(job) + "\n")
            } catch let error as ClientError {
                console.error("\(id): \(error.message)", remedies: error.remedies)
                status = .failed
            }
        }
        return status
    }
}

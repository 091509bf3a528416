// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import Hummingbird
internal import JobStore
internal import ServiceAPI

/// `/v1/support`.
struct SupportRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] { ["getSupportBundle": bundle] }

    private static let mostJobs = 100

    func bundle(_ request: Request, _ context: ServiceContext) async throws -> Response {
        var bundle = SupportBundle()
        bundle.createdAt = Timestamp(seconds: Clock.now)
        bundle.system = Self.system
        bundle.settings = service.settings.shownTexts
        bundle.status = try await service.nodeStatus()
        bundle.capabilities = await service.devices.present
        bundle.queues = try await service.store.queues().map(QueueRoutes.view)
        // The addresses of webhooks may have secrets.
        bundle.watches = await service.watches.list().map { watch in
            var watch = watch
            watch.settings.job.webhook = nil
            return watch
        }
        let view = JobView(live: service.progress)
        for job in try await service.store.jobs(JobFilter(states: [.failed]), before: nil, limit: Self.mostJobs) {
            // One that was deleted since is left out.
            guard let record = try? await service.store.job(job.id) else { continue }
            bundle.failedJobs.append(try view.summary(record))
        }
        bundle.log = service.recentLog.lines
        bundle.metrics = try await service.metrics()
        return JSONBody.response(
            bundle,
            headers: [.contentDisposition: "attachment; filename=\"vatoolbox-support.json\""]
        )
    }

    private static var system: String {
        var name = utsname()
        uname(&name)
        func text<Field>(_ field: Field) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(name.sysname)) \(text(name.release)) \(text(name.machine))"
    }
}

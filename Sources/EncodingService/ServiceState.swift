// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import JobStore
internal import Logging
internal import ServiceAPI

/// What the routes share.
struct ServiceState: Sendable {
    let settings: ServiceSettings
    let version: String
    let startedAt: Double
    let data: DataFolder
    let store: any JobStore
    let uploads: UploadStore
    let inputs: InputResolver
    let deliverer: Deliverer
    let dispatcher: Dispatcher
    let housekeeping: Housekeeping
    let capacity: CapacityMonitor
    let progress: LiveProgress
    let changes: ChangeSignal
    let devices: DeviceMonitor
    let preview: JobPreview
    let commands: any CommandRunning
    let streams: ConcurrencyLimit
    let previews: ConcurrencyLimit
    let counter: RequestCounter
    let attempts: AttemptCounter
    let deliveries: DeliveryStore
    let secrets: WebhookSecrets
    let webhooks: WebhookSender
    let logger: Logger
    let recentLog: RecentLog
    let followUp: FollowUp
    let presets: PresetStore
    let keys: KeyStore
    let links: LinkSigner
    let submission: JobSubmission
    let watches: WatchFolders
    let live: LiveJobs
    let livePlaces: LivePlaces

    /// A client has changed something that workers and watchers want to know.
    func changed() {
        dispatcher.poke()
        changes.send()
    }

    func nodeStatus() async throws -> NodeStatus {
        let status = await dispatcher.status
        let machine = capacity.load
        let queues = try await store.queues()
        let space = try await FileWork.run { [data] in try Files.space(data.path) }
        var load = [Double](repeating: 0, count: 3)
        let count = getloadavg(&load, 3)
        return NodeStatus {
            $0.version = version
            $0.startedAt = Timestamp(seconds: startedAt)
            $0.draining = status.isDraining
            $0.running = status.running
            $0.waiting = queues.reduce(0) { $0 + $1.ready }
            $0.disk = DiskStatus {
                $0.free = Int(space.free)
                $0.total = Int(space.total)
                $0.watermark = settings.diskReserve
                $0.low = status.isDiskLow
            }
            if count > 0 { $0.load = load[0] }
            $0.memory = MemoryLimits.status()
            $0.processors = ProcessorStatus {
                $0.count = capacity.processors
                $0.busy = machine.processors
            }
            $0.engines = machine.sortedEngines
        }
    }
}

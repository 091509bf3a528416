// SPDX-License-Identifier: GPL-2.0-or-later

internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// What a process runs until SIGTERM or SIGINT: then no task begins, and it ends with those that run. With the second
/// signal, it gives these back and ends at once.
struct NodeRun {
    /// The last one ends first.
    let services: [ServiceGroupConfiguration.ServiceConfiguration]
    let logger: Logger
    /// Called with the first signal.
    let onEnd: @Sendable () async -> Void

    /// - Parameter onReady: Called when signals end the process in this way, and not at once any more.
    func run(onReady: () -> Void = {}) async throws {
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: services, logger: logger))
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        onReady()
        let serving = Task { try await group.run() }
        let listening = Task { [logger, onEnd] in
            var count = 0
            for await signal in signals {
                count += 1
                if count == 1 {
                    Task { await onEnd() }
                    await group.triggerGracefulShutdown()
                } else {
                    logger.notice("the service ends at once", metadata: ["signal": "\(signal)"])
                    serving.cancel()
                }
            }
        }
        defer { listening.cancel() }
        do { try await serving.value } catch is CancellationError {}
    }
}

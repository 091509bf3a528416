// SPDX-License-Identifier: GPL-2.0-or-later

package import Logging
internal import ServiceLifecycle

/// A node that does tasks of the encoding service of other machines, and serves nothing.
package struct EncodingWorker: Sendable {
    private let storage: NodeStorage
    private let node: WorkerNode
    private let settings: ServiceSettings
    private let version: String
    private let logger: Logger

    /// Makes a worker.
    ///
    /// - Parameters:
    ///   - settings: Checked settings, with a store that other machines reach. Those of HTTP are not used.
    ///   - launcher: The program, and its arguments, that confines the processes of workers: see `ProcessHost`.
    ///   - environment: The environment of this process, from which workers get a few variables.
    ///   - version: The version that the log tells.
    ///   - logger: The log.
    /// - Throws: `SettingsError` without such a store, for a program that cannot be used, or if another process has the
    ///   name of this node; `FileError`; `StoreError` if the job store cannot be reached.
    package init(
        settings: ServiceSettings,
        launcher: [String],
        environment: [String: String],
        version: String,
        logger: Logger
    ) async throws {
        guard !settings.storeLocation.isEmpty else {
            throw SettingsError(
                "a worker needs the job store of other machines",
                given: "no store.location",
                allowed: "a PostgreSQL server, such as VATOOLBOX_SERVICE_STORE_LOCATION=postgresql://USER@HOST/DATABASE"
            )
        }
        self.settings = settings
        self.version = version
        self.logger = logger
        storage = try await NodeStorage(settings, servesAPI: false, logger: logger)
        node = try WorkerNode(
            storage: storage,
            settings: settings,
            launcher: launcher,
            environment: environment,
            version: version,
            housekeeping: nil,
            logger: logger
        )
    }

    /// Works until SIGTERM or SIGINT: then no task begins, and the worker ends with those that run. With the second signal,
    /// it gives these back and ends at once.
    package func run() async throws {
        try await node.recover(isRestored: false)
        // The last one ends first.
        try await NodeRun(
            services: [
                .init(service: node.devices),
                .init(service: node.dispatcher, successTerminationBehavior: .gracefullyShutdownGroup),
            ],
            logger: logger
        ) {}
        .run {
            logger.notice("the worker takes tasks", metadata: ["node": "\(settings.node)", "version": "\(version)"])
        }
        logger.notice("the worker has ended")
    }
}

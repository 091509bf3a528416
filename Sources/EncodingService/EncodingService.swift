// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import HummingbirdTLS
internal import JobStore
package import Logging
internal import MediaTypes
internal import NIOCore
internal import NIOSSL
internal import ServiceAPI
internal import ServiceLifecycle

/// The encoding service: jobs over HTTP, done by workers in processes of their own.
package struct EncodingService: Sendable {
    private let state: ServiceState
    private let logger: Logger
    private let application: any Service
    private let onceReady: ReadyPort
    private let storage: NodeStorage
    private let node: WorkerNode

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - settings: Checked settings.
    ///   - launcher: The program, and its arguments, that confines the processes of workers: see `ProcessHost`.
    ///   - environment: The environment of the service, from which workers get a few variables.
    ///   - version: The version that the service tells.
    ///   - logger: The log.
    ///   - recentLog: Where the log keeps its last lines.
    /// - Throws: `SettingsError` for a program or certificate that cannot be used; `FileError`; `StoreError` if the job
    ///   store cannot be opened.
    package init(
        settings: ServiceSettings,
        launcher: [String],
        environment: [String: String],
        version: String,
        logger: Logger,
        recentLog: RecentLog = RecentLog()
    ) async throws {
        storage = try await NodeStorage(settings, servesAPI: true, logger: logger)
        let data = storage.data
        let uploads = try UploadStore(data: data, settings: settings)
        let keys = try KeyStore(path: data.keys, hasToken: !settings.token.isEmpty)
        let deliveries = try DeliveryStore(path: data.deliveries, isOnSharedStorage: data.isShared)
        let secrets = try WebhookSecrets(path: data.webhookSecret)
        let housekeeping = Housekeeping(data: data, uploads: uploads, deliveries: deliveries)
        node = try WorkerNode(
            storage: storage,
            settings: settings,
            launcher: launcher,
            environment: environment,
            version: version,
            housekeeping: housekeeping,
            logger: logger
        )
        let (store, changes, inputs) = (storage.store, node.changes, node.inputs)
        let livePlaces = LivePlaces(
            folder: data.live,
            inputs: inputs,
            roots: node.deliverer.roots,
            addresses: node.client.policy
        )
        let presets = try PresetStore(folder: data.presets)
        let submission = JobSubmission(
            store: store,
            presets: presets,
            inputs: inputs,
            uploads: uploads,
            deliverer: node.deliverer,
            dispatcher: node.dispatcher,
            changes: changes,
            limit: settings.jobLimit
        )
        state = ServiceState(
            settings: settings,
            version: version,
            startedAt: Clock.now,
            data: data,
            store: store,
            uploads: uploads,
            inputs: inputs,
            deliverer: node.deliverer,
            dispatcher: node.dispatcher,
            housekeeping: housekeeping,
            capacity: node.capacity,
            progress: node.progress,
            changes: changes,
            devices: node.devices,
            preview: JobPreview(data: data, inputs: inputs, commands: node.commands),
            commands: node.commands,
            streams: ConcurrencyLimit(
                most: settings.streams > 0 ? settings.streams : 2 * node.capacity.limit.least,
                of: "streams"
            ),
            previews: ConcurrencyLimit(most: 2 * node.capacity.limit.least, of: "probes and dry runs"),
            counter: RequestCounter(),
            attempts: node.attempts,
            deliveries: deliveries,
            secrets: secrets,
            webhooks: WebhookSender(
                store: store,
                deliveries: deliveries,
                secrets: secrets,
                client: node.client,
                changes: changes,
                logger: logger
            ),
            logger: logger,
            recentLog: recentLog,
            followUp: FollowUp(
                data: data,
                store: store,
                uploads: uploads,
                keys: keys,
                changes: changes,
                logger: logger
            ),
            presets: presets,
            keys: keys,
            links: try LinkSigner(path: data.linkKey),
            submission: submission,
            watches: try WatchFolders(
                folder: data.watches,
                inputs: inputs,
                submission: submission,
                interval: settings.watchInterval,
                changes: changes,
                logger: logger
            ),
            live: try LiveJobs(
                LiveJobs.Parts(
                    runner: LiveRunner(
                        host: node.host,
                        program: Files.folder(of: node.program) + "/vatoolbox-live",
                        environment: node.environment,
                        state: data.state,
                        stallTimeout: settings.stallTimeout,
                        memory: settings.taskMemory,
                        notice: node.notice
                    ),
                    places: livePlaces,
                    load: node.liveLoad,
                    most: settings.live > 0 ? settings.live : max(2, Int(limiting: node.capacity.processors)),
                    allowedAddresses: settings.allowedAddresses,
                    logger: logger
                )
            ),
            livePlaces: livePlaces
        )
        self.logger = logger
        onceReady = ReadyPort()
        application = Application(
            router: ServiceRoutes(state).router(),
            server: try Self.server(settings),
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: settings.port),
                serverName: "vatoolbox/\(version)"
            ),
            onServerRunning: { [onceReady, settings] channel in
                let port = channel.localAddress?.port ?? settings.port
                let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
                logger.notice(
                    "listening",
                    metadata: ["url": "\(settings.usesTLS ? "https" : "http")://\(host):\(port)/"]
                )
                onceReady.set(port)
            },
            logger: logger
        )
    }

    /// The port on which the service listens, once it does.
    package var port: Int { get async { await onceReady.value } }

    /// Serves until SIGTERM or SIGINT: then no task begins, and the service ends with those that run. With the second
    /// signal, it gives these back and ends at once.
    package func run() async throws {
        try await recover()
        // The last one ends first.
        try await NodeRun(
            services: [
                .init(service: application), .init(service: state.devices), .init(service: state.followUp),
                .init(service: state.watches),
                .init(service: state.webhooks), .init(service: state.live),
                .init(service: state.dispatcher, successTerminationBehavior: .gracefullyShutdownGroup),
            ],
            logger: logger
        ) { [live = state.live] in
            // Tasks may go on for long, and live jobs have no end to wait for.
            await live.endAll()
        }
        .run()
        logger.notice("the service has ended")
    }

    private func recover() async throws {
        try await node.recover(isRestored: storage.isRestored)
        if try await !state.store.queues().contains(where: { $0.settings.name == StreamRoutes.queue }) {
            try await state.store.setQueue(QueueSettings(name: StreamRoutes.queue))
        }
        try await state.followUp.begin()
        try await state.webhooks.begin()
    }

    // MARK: Parts

    private static func server(_ settings: ServiceSettings) throws -> HTTPServerBuilder {
        let timeout = TimeAmount.nanoseconds(Int64(settings.idleTimeout * 1e9))
        var http1 = HTTP1Channel.Configuration(idleTimeout: timeout)
        http1.httpDecoder = .init(maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100)
        guard settings.usesTLS else { return .http1(configuration: http1) }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(settings.certificate).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = try NIOSSLPrivateKey(file: settings.privateKey, format: .pem)
            var tls = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
            tls.minimumTLSVersion = .tlsv12
            return try .http2Upgrade(
                tlsConfiguration: tls,
                configuration: .init(idleTimeout: .seconds(settings.idleTimeout), streamConfiguration: http1)
            )
        } catch {
            throw SettingsError(
                "the certificate or its key cannot be used: \(error)",
                given: "\(settings.certificate), \(settings.privateKey)",
                allowed: "PEM files that belong together"
            )
        }
    }
}

/// The port, once it is known.
private actor ReadyPort {
    private var port: Int?
    private var waiting: [CheckedContinuation<Int, Never>] = []

    nonisolated func set(_ port: Int) { Task { await self.fulfill(port) } }

    private func fulfill(_ port: Int) {
        self.port = port
        for continuation in waiting { continuation.resume(returning: port) }
        waiting = []
    }

    var value: Int {
        get async {
            if let port { return port }
            return await withCheckedContinuation { waiting.append($0) }
        }
    }
}

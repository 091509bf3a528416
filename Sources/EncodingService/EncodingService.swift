// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import HummingbirdTLS
internal import JobExecution
internal import JobStore
package import Logging
internal import MediaTypes
internal import NIOCore
internal import NIOSSL
internal import ServiceAPI
internal import ServiceLifecycle
internal import UnixSignals

/// The encoding service: jobs over HTTP, done by workers in processes of their own.
package struct EncodingService: Sendable {
    private let state: ServiceState
    private let logger: Logger
    private let application: any Service
    private let onceReady: ReadyPort
    private let isRestored: Bool

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
        let data = try DataFolder(path: settings.data)
        let store = try SQLiteJobStore(path: data.jobStore)
        try data.removeUnfinished()
        isRestored = store.repair != nil
        if let repair = store.repair {
            logger.error(
                "the job store was damaged, and has gone back to its last backup: jobs that were submitted since are lost",
                metadata: [
                    "damage": "\(repair.damage)", "damaged": "\(repair.damagedPath ?? "missing")",
                    "backup": "\(repair.backupPath)",
                ]
            )
        }
        let host = try ProcessHost(launcher: launcher)
        let program = try Self.program(settings, launcher: launcher)
        let notice = ConfinementNotice(logger)
        let workerEnvironment = environment.filter { Self.isForWorkers($0.key) }
        let commands = ConfinedRunner(
            host: host,
            program: program,
            environment: workerEnvironment,
            qualityProgram: Self.qualityProgram(environment),
            state: data.state,
            stallTimeout: settings.stallTimeout,
            memory: settings.taskMemory,
            niceness: settings.niceness,
            mostSessions: settings.mostSessions,
            inputLimits: settings.inputLimits,
            notice: notice
        )
        let changes = ChangeSignal()
        let progress = LiveProgress()
        let uploads = try UploadStore(data: data, settings: settings)
        let client = PinnedClient(
            policy: AddressPolicy(exceptions: settings.allowedAddresses.compactMap(AddressRange.init))
        )
        let stores = try ObjectStores(settings)
        let roots = WritableRoots(roots: settings.writableMediaRoots)
        let deliverer = Deliverer(
            data: data,
            stores: stores,
            roots: roots,
            transfers: PendingTransfers(folder: data.transfers, stores: stores, roots: roots, logger: logger)
        )
        let inputs = InputResolver(
            uploads: uploads,
            roots: settings.mediaRoots,
            client: client,
            stores: stores,
            fetcher: InputFetcher(
                limit: settings.inputLimit,
                stallTimeout: settings.fetchTimeout,
                diskReserve: settings.diskReserve
            )
        )
        let attempts = AttemptCounter()
        let keys = try KeyStore(path: data.keys, hasToken: !settings.token.isEmpty)
        let deliveries = try DeliveryStore(path: data.deliveries)
        let secrets = try WebhookSecrets(path: data.webhookSecret)
        let devices = DeviceMonitor(commands: commands, changes: changes, logger: logger)
        let capacity = CapacityMonitor(setting: settings.workers, devices: devices)
        let runner = TaskRunner(
            store: store,
            data: data,
            inputs: inputs,
            deliverer: deliverer,
            commands: commands,
            progress: progress,
            changes: changes,
            attempts: attempts,
            capacity: capacity,
            logger: logger
        )
        let liveLoad = LiveLoad()
        let livePlaces = LivePlaces(folder: data.live, inputs: inputs, roots: roots, addresses: client.policy)
        let dispatcher = Dispatcher(
            store: store,
            runner: runner,
            data: data,
            uploads: uploads,
            deliveries: deliveries,
            capacity: capacity,
            live: liveLoad,
            changes: changes,
            settings: settings,
            node: Self.node,
            logger: logger
        )
        let presets = try PresetStore(folder: data.presets)
        let submission = JobSubmission(
            store: store,
            presets: presets,
            inputs: inputs,
            uploads: uploads,
            deliverer: deliverer,
            dispatcher: dispatcher,
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
            deliverer: deliverer,
            dispatcher: dispatcher,
            capacity: capacity,
            progress: progress,
            changes: changes,
            devices: devices,
            preview: JobPreview(data: data, inputs: inputs, commands: commands),
            commands: commands,
            streams: ConcurrencyLimit(
                most: settings.streams > 0 ? settings.streams : 2 * capacity.limit.least,
                of: "streams"
            ),
            previews: ConcurrencyLimit(most: 2 * capacity.limit.least, of: "probes and dry runs"),
            counter: RequestCounter(),
            attempts: attempts,
            deliveries: deliveries,
            secrets: secrets,
            webhooks: WebhookSender(
                store: store,
                deliveries: deliveries,
                secrets: secrets,
                client: client,
                changes: changes,
                logger: logger
            ),
            logger: logger,
            recentLog: recentLog,
            followUp: FollowUp(store: store, uploads: uploads, keys: keys, changes: changes, logger: logger),
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
                        host: host,
                        program: Files.folder(of: program) + "/vatoolbox-live",
                        environment: workerEnvironment,
                        state: data.state,
                        stallTimeout: settings.stallTimeout,
                        memory: settings.taskMemory,
                        notice: notice
                    ),
                    places: livePlaces,
                    load: liveLoad,
                    most: settings.live > 0 ? settings.live : max(2, Int(limiting: capacity.processors)),
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
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // The last one ends first.
                services: [
                    .init(service: application), .init(service: state.devices), .init(service: state.followUp),
                    .init(service: state.watches),
                    .init(service: state.webhooks), .init(service: state.live),
                    .init(service: state.dispatcher, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                logger: logger
            )
        )
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let serving = Task { try await group.run() }
        let listening = Task { [logger, state] in
            var count = 0
            for await signal in signals {
                count += 1
                if count == 1 {
                    // Tasks may go on for long, and live jobs have no end to wait for.
                    Task { [live = state.live] in await live.endAll() }
                    await group.triggerGracefulShutdown()
                } else {
                    logger.notice("the service ends at once", metadata: ["signal": "\(signal)"])
                    serving.cancel()
                }
            }
        }
        defer { listening.cancel() }
        do { try await serving.value } catch is CancellationError {}
        logger.notice("the service has ended")
    }

    private func recover() async throws {
        try await state.dispatcher.recover(isRestored: isRestored)
        if try await !state.store.queues().contains(where: { $0.settings.name == StreamRoutes.queue }) {
            try await state.store.setQueue(QueueSettings(name: StreamRoutes.queue))
        }
        let left = try state.deliverer.transfers.left()
        Task { [transfers = state.deliverer.transfers] in for record in left { await transfers.settle(record) } }
        try await state.followUp.begin()
        try await state.webhooks.begin()
    }

    // MARK: Parts

    /// The name of this machine among those that work on a store.
    private static var node: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func program(_ settings: ServiceSettings, launcher: [String]) throws -> String {
        let beside = launcher[0].lastIndex(of: "/").map { String(launcher[0][...$0]) } ?? "./"
        let path = settings.program.isEmpty ? beside + "vatoolbox" : settings.program
        guard access(path, X_OK) == 0 else {
            throw SettingsError(
                "the program that encodes cannot be started: \(String(cString: strerror(errno)))",
                given: path,
                allowed: "the path of vatoolbox, as `program`"
            )
        }
        return path
    }

    /// The ffmpeg that `vatoolbox` would find: that of `VATOOLBOX_FFMPEG`, otherwise the first one in `PATH`.
    private static func qualityProgram(_ environment: [String: String]) -> String? {
        let name = environment["VATOOLBOX_FFMPEG"] ?? "ffmpeg"
        let folders = (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        let paths = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        return paths.first { $0.hasPrefix("/") && access($0, X_OK) == 0 }
    }

    /// What drivers and helpers are told by the environment.
    private static func isForWorkers(_ name: String) -> Bool {
        let names = ["PATH", "LANG", "LD_LIBRARY_PATH", "LD_PRELOAD", "TMPDIR"]
        let prefixes = ["LIBVA_", "MESA_", "VATOOLBOX_", "RENDER_", "REFERENCE_", "INTEL_", "AMD_", "RADEON"]
        let ofCommands = [
            "VATOOLBOX_KEY", "VATOOLBOX_URL", "VATOOLBOX_STREAM_KEY", "VATOOLBOX_STREAM_ID", "VATOOLBOX_PASSPHRASE",
            "VATOOLBOX_AUTHORIZATION",
        ]
        return names.contains(name)
            || prefixes.contains { name.hasPrefix($0) } && !name.hasPrefix(Setting.variablePrefix)
                && !ofCommands.contains(name)
    }

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

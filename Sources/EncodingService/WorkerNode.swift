// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import JobExecution
internal import JobStore
internal import Logging

/// What every node has that works on a job store: it runs tasks in processes of their own.
struct WorkerNode: Sendable {
    let host: ProcessHost
    /// The program that encodes.
    let program: String
    /// The environment of the processes of workers.
    let environment: [String: String]
    let notice: ConfinementNotice
    let commands: ConfinedRunner
    let changes = ChangeSignal()
    let progress = LiveProgress()
    let client: PinnedClient
    let deliverer: Deliverer
    let inputs: InputResolver
    let attempts = AttemptCounter()
    let devices: DeviceMonitor
    let capacity: CapacityMonitor
    let liveLoad = LiveLoad()
    let dispatcher: Dispatcher

    /// - Parameters:
    ///   - launcher: The program, and its arguments, that confines the processes of workers: see `ProcessHost`.
    ///   - environment: The environment of this process, from which workers get a few variables.
    ///   - version: The version of the programs.
    ///   - housekeeping: `nil` on a node that does not serve the API.
    /// - Throws: `SettingsError` for a program that cannot be used.
    init(
        storage: NodeStorage,
        settings: ServiceSettings,
        launcher: [String],
        environment: [String: String],
        version: String,
        housekeeping: Housekeeping?,
        logger: Logger
    ) throws {
        let (data, store) = (storage.data, storage.store)
        host = try ProcessHost(launcher: launcher)
        program = try Self.program(settings, launcher: launcher)
        notice = ConfinementNotice(logger)
        self.environment = environment.filter { Self.isForWorkers($0.key) }
        commands = ConfinedRunner(
            host: host,
            program: program,
            environment: self.environment,
            qualityProgram: Self.qualityProgram(environment),
            state: data.state,
            stallTimeout: settings.stallTimeout,
            memory: settings.taskMemory,
            niceness: settings.niceness,
            mostSessions: settings.mostSessions,
            inputLimits: settings.inputLimits,
            notice: notice
        )
        client = PinnedClient(
            policy: AddressPolicy(exceptions: settings.allowedAddresses.compactMap(AddressRange.init))
        )
        let stores = try ObjectStores(settings)
        let roots = WritableRoots(roots: settings.writableMediaRoots)
        deliverer = Deliverer(
            data: data,
            stores: stores,
            roots: roots,
            transfers: PendingTransfers(folder: data.transfers, stores: stores, roots: roots, logger: logger)
        )
        inputs = InputResolver(
            data: data,
            uploads: housekeeping?.uploads,
            roots: settings.mediaRoots,
            client: client,
            stores: stores,
            fetcher: InputFetcher(
                limit: settings.inputLimit,
                stallTimeout: settings.fetchTimeout,
                diskReserve: settings.diskReserve
            )
        )
        devices = DeviceMonitor(commands: commands, changes: changes, logger: logger)
        capacity = CapacityMonitor(setting: settings.workers, devices: devices)
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
            version: version,
            logger: logger
        )
        dispatcher = Dispatcher(
            store: store,
            runner: runner,
            data: data,
            housekeeping: housekeeping,
            capacity: capacity,
            live: liveLoad,
            changes: changes,
            settings: settings,
            logger: logger
        )
    }

    /// Sets right what an earlier process of this node has left.
    ///
    /// - Parameter isRestored: As of ``NodeStorage/isRestored``.
    func recover(isRestored: Bool) async throws {
        try await dispatcher.recover(isRestored: isRestored)
        let left = try deliverer.transfers.left()
        Task { [transfers = deliverer.transfers] in for record in left { await transfers.settle(record) } }
    }

    // MARK: Parts

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
}

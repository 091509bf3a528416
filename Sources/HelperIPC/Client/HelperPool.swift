// SPDX-License-Identifier: GPL-2.0-or-later

internal import Logging
public import MediaTypes
internal import Synchronization

/// Starts helper processes, and assigns encoders and decoders to them.
///
/// Safe to use from several threads. A helper ends with the last encoder or decoder in it; a spare one ends with its pool.
public final class HelperPool: Sendable {
    /// Options of a pool.
    public struct Options: Sendable {
        /// The helper program. Decoders need ``HelperProgram/decoding``.
        public var program = HelperProgram.encoding
        /// The path of the program; `nil` for the one that ``HelperLocation/find(_:at:)`` finds.
        public var path: String?
        /// How many encoders and decoders may run in one helper at the same time, 1...1000.
        ///
        /// With 1, one that fails affects no other. A larger number saves processes, and those of one driver share its
        /// memory. But when a helper ends, everything in it ends, and a helper in which an encoder or decoder has failed
        /// accepts no more. No frame is lost either way.
        public var connectionsPerHelper = 1
        /// Whether a spare helper is kept running, so that the next encoder or decoder does not wait for the start of a process.
        /// It is started with the pool, and again after it was used or has ended. It has the environment that this
        /// process had at that time.
        public var keepsSpare = false
        /// Receives the log lines of helpers, on threads of the pool; must not block. Lines go to swift-log under the
        /// label `vatoolbox.helper` unless this is replaced.
        public var log: @Sendable (HelperLogLine) -> Void = { HelperPool.logToSwiftLog($0) }

        /// Creates the defaults: one encoder or decoder per helper, no spare.
        public init(_ program: HelperProgram = .encoding) { self.program = program }
    }

    /// The default pool of encoders: one per helper, no spare.
    public static let standard = HelperPool(unchecked: .init())
    /// The default pool of decoders: one per helper, no spare.
    public static let decoding = HelperPool(unchecked: .init(.decoding))

    /// The options of the pool.
    public let options: Options

    private struct State {
        /// The helpers that several connections share. They exist as long as these.
        var shared: [Shared] = []
        var spare: HelperHost?
    }

    private struct Shared {
        weak var host: HelperHost?
    }

    private let state = Mutex(State())

    /// Creates a pool, and starts its spare helper if it keeps one; a failure is reported when an encoder is requested.
    ///
    /// - Throws: `invalidArgument` if ``Options/connectionsPerHelper`` is out of range.
    public convenience init(_ options: Options) throws(MediaError) {
        guard (1...1000).contains(options.connectionsPerHelper) else {
            throw MediaError(
                .invalidArgument,
                "number of encoders and decoders in one helper is out of range",
                given: "\(options.connectionsPerHelper)",
                allowed: "1...1000"
            )
        }
        self.init(unchecked: options)
        keepSpare()
    }

    private init(unchecked options: Options) { self.options = options }

    deinit { state.withLock { $0.spare?.close() } }

    /// The process ID of the spare helper, once it runs.
    var spareProcessID: Int32? { state.withLock { $0.spare?.processID } }

    /// Opens a connection to a helper that has sent its greeting.
    ///
    /// - Parameters:
    ///   - patience: The deadline for the start of a helper.
    ///   - logger: Receives the log of the helper if it has only one connection; `nil` leaves it to the pool.
    /// - Throws: `unavailable` if there is no helper program or it cannot be run, `deadlineExceeded`, `outOfMemory`, or
    ///   the end of the helper.
    func connect<Messages: ConnectionMessages>(
        _ handlers: HelperLink<Messages>.Handlers,
        within patience: Duration,
        logger: Logger? = nil
    ) throws(MediaError) -> HelperLink<Messages> {
        let host = try place(logger)
        do {
            try host.awaitGreeting(within: patience)
            return try host.connect(handlers)
        } catch {
            host.release()
            throw error
        }
    }

    /// Returns a helper with a reserved place for one more connection.
    private func place(_ logger: Logger?) throws(MediaError) -> HelperHost {
        let limit = options.connectionsPerHelper
        let log = limit > 1 ? nil : logger.map { logger in { @Sendable line in Self.log(line, to: logger) } }
        let host = try state.withLock { (state) throws(MediaError) -> HelperHost in
            state.shared.removeAll { $0.host?.isOpen != true }
            if let host = state.shared.lazy.compactMap(\.host).first(where: { $0.reserve(limit: limit) }) {
                return host
            }
            let spare = state.spare.take()
            let host: HelperHost
            if let spare, spare.reserve(limit: limit) {
                host = spare
                if let log { spare.setLog(log) }
            } else {
                host = try start(log: log ?? options.log)
                _ = host.reserve(limit: limit)
            }
            if limit > 1 { state.shared.append(Shared(host: host)) }
            return host
        }
        keepSpare()
        return host
    }

    private func start(log: @escaping @Sendable (HelperLogLine) -> Void) throws(MediaError) -> HelperHost {
        let path = try HelperLocation.find(options.program, at: options.path)
        return try HelperHost.start(options.program, path: path, log: log)
    }

    /// Starts a spare if one is to be kept and there is none. Errors are ignored here and reported to callers that need
    /// a helper.
    private func keepSpare() {
        guard options.keepsSpare else { return }
        state.withLock { state in
            if state.spare?.isOpen != true { state.spare = try? start(log: options.log) }
        }
    }

    private static let logger = Logger(label: "vatoolbox.helper")

    private static func logToSwiftLog(_ line: HelperLogLine) { log(line, to: logger) }

    private static func log(_ line: HelperLogLine, to logger: Logger) {
        // Output of libraries and drivers to standard error has no level.
        logger.log(level: line.level.flatMap { Logger.Level(rawValue: $0) } ?? .info, "\(line.text)")
    }
}

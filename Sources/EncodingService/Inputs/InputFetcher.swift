// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import Glibc
internal import HostSystem
internal import NIOCore
internal import ServiceAPI

/// Fetches inputs into files of the service, because the processes that read them have no network.
struct InputFetcher: Sendable {
    /// The largest input, in bytes.
    let limit: Int
    /// The period over which a server sends at least `leastRate` bytes a second on average, in seconds.
    let stallTimeout: Double
    /// What must stay free on the disk, in bytes.
    let diskReserve: Int

    /// How often a fetch goes on after an interruption.
    static let mostInterruptions = 4
    /// The average rate below which a server holds up a task, in bytes per second.
    static let leastRate = 10 << 10
    private static let writeSize = 1 << 20

    /// Fetches a file.
    ///
    /// - Parameters:
    ///   - path: The file to write, in a folder that exists.
    ///   - timeLimit: Seconds that it may take.
    ///   - onProgress: Is told the bytes that are fetched, and those of the whole file if they are known.
    ///   - onInterruption: Is told why and where the fetch begins to go on.
    /// - Throws: `TransferFailure`; `FileError` with `ENOSPC` if the disk would be too full.
    func fetch(
        _ origin: some FetchOrigin,
        into path: String,
        timeLimit: Double?,
        onProgress: @escaping @Sendable (Int, Int?) -> Void,
        onInterruption: @escaping @Sendable (String) -> Void
    ) async throws {
        try await withTimeLimit(timeLimit) {
            let file = try SpoolFile(path: path, reserve: diskReserve)
            var state = FetchState(limit: limit)
            var beginning = FileBeginning()
            for interruption in 0... {
                do {
                    if try await receive(&state, &beginning, origin, into: file, onProgress) { return }
                } catch let failure as TransferFailure where failure.isInterruption && !Task.isCancelled {
                    guard interruption < Self.mostInterruptions else { throw failure }
                    let place = state.requestFields.isEmpty ? 0 : state.offset
                    onInterruption("\(failure.message); goes on after byte \(place)")
                    try await Task.sleep(for: .seconds(Self.pause(after: interruption)))
                }
            }
        }
    }

    /// Half a second, then twice as long each time, shortened at random by up to half.
    static func pause(after interruptions: Int) -> Double {
        0.5 * Double(1 << min(interruptions, 8)) * Double.random(in: 0.5...1)
    }

    /// Sends a request, and writes what its answer has.
    ///
    /// - Returns: Whether the file is complete.
    private func receive(
        _ state: inout FetchState,
        _ beginning: inout FileBeginning,
        _ origin: some FetchOrigin,
        into file: SpoolFile,
        _ onProgress: @Sendable (Int, Int?) -> Void
    ) async throws -> Bool {
        var current = state
        var known = beginning
        defer { (state, beginning) = (current, known) }
        var isComplete = false
        do {
            try await origin.get(current.requestFields, patience: stallTimeout) { response in
                switch try current.begin(FetchState.Answer(response)) {
                case .startOver: return
                case .redirect: throw TransferFailure(code: .fetchFailed, message: "the server redirects")
                case .readAnew: try await FileWork.run { try file.truncate() }
                case .read: break
                }
                if let size = current.size {
                    let rest = size - current.offset
                    try await FileWork.run { try file.reserve(rest) }
                }
                try await write(response.body, to: file, &current, &known, onProgress)
                isComplete = true
            }
        } catch {
            try Task.checkCancellation()
            throw Self.failure(of: error)
        }
        return isComplete
    }

    private func write(
        _ body: HTTPClientResponse.Body,
        to file: SpoolFile,
        _ state: inout FetchState,
        _ beginning: inout FileBeginning,
        _ onProgress: @Sendable (Int, Int?) -> Void
    ) async throws {
        var pending: [UInt8] = []
        var watch = (since: Clock.monotonic, offset: state.offset)
        func flush(_ state: FetchState) async throws {
            let bytes = pending
            pending = []
            try await FileWork.run { try file.write(bytes, at: state.offset - bytes.count) }
            onProgress(state.offset, state.size)
        }
        do {
            for try await chunk in body {
                try beginning.add(chunk.readableBytesView, at: state.offset)
                try state.add(chunk.readableBytes)
                pending += chunk.readableBytesView
                // The first bytes are written early: they show that there is progress.
                let isFirst = pending.count == state.offset
                if pending.count >= (isFirst ? Playlist.lookedAt : Self.writeSize) { try await flush(state) }
                let now = Clock.monotonic
                guard now - watch.since >= stallTimeout else { continue }
                let rate = Double(state.offset - watch.offset) / (now - watch.since)
                guard rate >= Double(Self.leastRate) else { throw Self.stalled(stallTimeout, rate) }
                watch = (now, state.offset)
            }
        } catch let error where !(error is TransferFailure) && !(error is FileError) {
            // What has arrived is kept: the rest is asked for.
            try await flush(state)
            throw error
        }
        try await flush(state)
        try state.end()
        try beginning.end()
    }

    private static func stalled(_ seconds: Double, _ rate: Double) -> TransferFailure {
        TransferFailure(
            code: .fetchFailed,
            message:
                "the server is too slow: it has sent \(Int(limiting: rate)) bytes a second within \(seconds) seconds "
                + "(allowed: at least \(leastRate) on average)",
            isRetriable: true
        )
    }

    /// Errors of the connection as failures.
    private static func failure(of error: any Error) -> any Error {
        switch error {
        case is TransferFailure, is FileError, is CancellationError: error
        case let error as AddressRefusal: TransferFailure(code: .addressRefused, message: error.description)
        case let error as PinnedClient.UnknownHost:
            TransferFailure(code: .fetchFailed, message: error.description, isRetriable: true)
        case let error as HTTPClientError where error == .readTimeout || error == .deadlineExceeded:
            TransferFailure(code: .fetchFailed, message: "the server does not answer in time", isRetriable: true)
        default: TransferFailure.interruption("the connection to the server failed: \(error)")
        }
    }

    private func withTimeLimit(_ limit: Double?, _ body: @escaping @Sendable () async throws -> Void) async throws {
        guard let limit else { return try await body() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(operation: body)
            group.addTask {
                try await Task.sleep(for: .seconds(limit))
                throw TransferFailure(code: .timeLimit, message: "the input was not fetched within \(limit) seconds")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// A file that is written while an input is fetched.
private final class SpoolFile: Sendable {
    private let descriptor: Int32
    private let path: String
    private let reserve: Int64

    init(path: String, reserve: Int) throws(FileError) {
        self.path = path
        self.reserve = Int64(reserve)
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError("open", path) }
    }

    deinit { close(descriptor) }

    /// Checks that the disk has room for further bytes.
    func reserve(_ count: Int) throws(FileError) {
        let free = try Files.space(path).free
        guard Int64(count) <= free - reserve else { throw FileError("write", path, status: ENOSPC) }
    }

    func write(_ bytes: [UInt8], at offset: Int) throws(FileError) {
        try reserve(bytes.count)
        guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw FileError("lseek", path) }
        try Files.write(bytes, to: descriptor, path)
    }

    func truncate() throws(FileError) {
        guard ftruncate(descriptor, 0) == 0 else { throw FileError("ftruncate", path) }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore
internal import Logging

/// How attempts end, and how the job store is told of it, although it may be away for some time.
extension TaskRunner {
    /// Publishes and completes. While a store of several nodes is away, waits for it: what was encoded need not be lost with
    /// it, and is published if the attempt still has its task then. A store in the folder is not waited for, because
    /// what this attempt has written may be the reason why it cannot be used.
    func complete(
        _ claim: Claim,
        result: String,
        _ logger: Logger,
        publish: @escaping @Sendable () throws -> Void
    ) async throws(StoreError) {
        let token = claim.token
        guard data.isShared else {
            return try await store.complete(token, result: result, intent: "{}", publish: publish)
        }
        do throws(StoreError) {
            try await persistently(logger) { () async throws(StoreError) in
                try await store.complete(token, result: result, intent: "{}", publish: publish)
            }
        } catch {
            // It was completed, and the answer was lost.
            guard error.code == .staleAttempt, await isPublished(claim) == true else { throw error }
        }
    }

    func fail(_ claim: Claim, _ failure: Failure, _ logger: Logger) async {
        logger.warning("attempt has failed", metadata: ["code": "\(failure.code)", "failure": "\(failure.message)"])
        await tell(of: claim, logger) { () async throws(StoreError) in try await store.fail(claim.token, failure) }
    }

    func release(_ claim: Claim, _ logger: Logger) async {
        logger.info("attempt is given back")
        await tell(of: claim, logger) { () async throws(StoreError) in try await store.release(claim.token) }
    }

    /// What the store has refused or could not do.
    func settle(_ claim: Claim, _ error: StoreError, _ logger: Logger) async {
        switch error.code {
        case .staleAttempt:
            logger.notice("attempt has lost its task", metadata: ["error": "\(error)"])
        case .cancelled:
            await release(claim, logger)
        case .publishFailed, .unsettled:
            logger.error("attempt is in doubt", metadata: ["error": "\(error)"])
            await settle(claim, logger)
        case .unavailable where data.isShared:
            // This was cancelled while it waited for the store.
            await release(claim, logger)
        default:
            logger.error("the job store has refused an attempt", metadata: ["error": "\(error)"])
            await tell(of: claim, logger) { () async throws(StoreError) in
                try await store.fail(claim.token, Self.failure(of: error))
            }
        }
    }

    /// Tells whether an attempt in doubt has published its result.
    private func settle(_ claim: Claim, _ logger: Logger) async {
        // If that cannot be found out, the next start does.
        guard let isPublished = await isPublished(claim) else { return }
        do throws(StoreError) {
            try await persistently(logger) { () async throws(StoreError) in
                try await store.settle(claim.token, wasPublished: isPublished)
            }
        } catch {
            refused(error, logger)
        }
    }

    /// Whether the result of a task is that of an attempt; `nil` if that cannot be found out.
    private func isPublished(_ claim: Claim) async -> Bool? {
        try? await FileWork.run { [data] in try Publication.published(claim.task, in: data)?.token == claim.token }
    }

    /// Tells the store how an attempt has ended that is not published.
    private func tell(of claim: Claim, _ logger: Logger, _ call: () async throws(StoreError) -> Void) async {
        do throws(StoreError) { try await persistently(logger, call) } catch {
            // It had begun to publish when the store went away.
            if error.code == .unsettled { await settle(claim, logger) } else { refused(error, logger) }
        }
    }

    private func refused(_ error: StoreError, _ logger: Logger) {
        if error.code == .staleAttempt {
            logger.notice("attempt had lost its task")
        } else {
            logger.error("the job store cannot be told of the end of an attempt", metadata: ["error": "\(error)"])
        }
    }

    /// Makes a call, and repeats it with growing pauses while the store is away, until this task is cancelled.
    private func persistently(
        _ logger: Logger,
        _ call: () async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var pause = Self.firstPause
        while true {
            let failure: StoreError
            do throws(StoreError) { return try await call() } catch { failure = error }
            guard failure.code == .unavailable, !Task.isCancelled else { throw failure }
            if pause == Self.firstPause {
                logger.warning("attempt waits for the job store", metadata: ["error": "\(failure)"])
            }
            do { try await Task.sleep(for: .seconds(pause * .random(in: 0.5...1))) } catch { throw failure }
            pause = min(2 * pause, Self.longestPause)
        }
    }

    /// Seconds between calls while the store is away.
    private static var firstPause: Double { 0.25 }
    private static var longestPause: Double { 4 }
}

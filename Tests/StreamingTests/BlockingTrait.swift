// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport
import Testing

/// Runs tests on threads of their own, because they block them; see `OwnThreads`.
struct BlockingTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(OwnThreads.shared) { try await function() }
    }
}

extension Trait where Self == BlockingTrait {
    /// The tests block the threads that they run on.
    static var blocks: Self { Self() }
}

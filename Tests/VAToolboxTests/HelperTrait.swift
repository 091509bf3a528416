// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport
import Testing

/// Tests that may use helper processes.
struct UsesHelpers: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await HelperTraffic.shared.run(alone: false, function)
    }
}

extension Trait where Self == UsesHelpers {
    /// Has a lane of ``HelperTraffic``.
    static var usesHelpers: Self { Self() }
}

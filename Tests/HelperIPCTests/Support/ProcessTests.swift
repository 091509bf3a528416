// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport
import Testing

/// Everything that starts processes or counts descriptors and threads: one test after another.
@Suite(.serialized, .aloneWithHelpers) enum ProcessTests {}

/// Tests beside which no other may use helper processes.
struct AloneWithHelpers: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await HelperTraffic.shared.run(alone: true, function)
    }
}

extension Trait where Self == AloneWithHelpers {
    /// Has all lanes of ``HelperTraffic``.
    static var aloneWithHelpers: Self { Self() }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import NIOPosix

/// Calls that wait for a disk, on threads that may wait. A call is completed even if its task is cancelled: what a
/// cancelled task has written can still be removed.
enum FileWork {
    /// Runs a call to its end, even if the calling task is cancelled: cleaning up is most needed then.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await Task { try await NIOThreadPool.singleton.runIfActive(body) }.value
    }
}

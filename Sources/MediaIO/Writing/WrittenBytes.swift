// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// The bytes that an output has written so far, in all its passes. It advances while a file is completed, when no sample
/// is written any more.
package final class WrittenBytes: Sendable {
    private let value = Atomic<Int64>(0)

    /// None are written.
    package init() {}

    /// The number. Safe on any thread.
    package var count: Int64 { value.load(ordering: .relaxed) }

    func add(_ count: Int) { value.add(Int64(count), ordering: .relaxed) }
}

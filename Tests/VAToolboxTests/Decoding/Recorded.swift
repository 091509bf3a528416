// SPDX-License-Identifier: GPL-2.0-or-later

import Synchronization

/// Values that were recorded on any thread.
final class Recorded<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func add(_ value: Value) { values.withLock { $0.append(value) } }
}

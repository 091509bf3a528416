// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// A reference that does not keep its object alive, for callbacks of what the object owns.
package final class WeakReference<Object: AnyObject & Sendable>: Sendable {
    private struct State {
        weak var object: Object?
    }

    private let state = Mutex(State())

    package init() {}

    package var object: Object? {
        get { state.withLock { $0.object } }
        set { state.withLock { $0.object = newValue } }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// The use of a device by one display of an encoder or decoder.
package final class DeviceUse: Sendable {
    /// What happens to the descriptor of a render node.
    package enum Event: Sendable, Hashable {
        /// It was opened. It is valid during the call.
        case opened(Int32)
        /// It is about to be closed.
        case closes(Int32)
    }

    private static let handler = Mutex<(@Sendable (Event) -> Void)?>(nil)

    private let descriptor = Mutex<Int32?>(nil)

    /// Sets what is told of all devices that are opened in this process from now on, on the thread that opens or closes
    /// them.
    package static func observe(_ handler: @escaping @Sendable (Event) -> Void) {
        self.handler.withLock { $0 = handler }
    }

    /// Tells that the device is open.
    func begin(_ number: Int32) {
        descriptor.withLock { $0 = number }
        Self.handler.withLock { $0 }?(.opened(number))
    }

    /// Tells that the device closes, if it was open.
    func end() {
        let number = descriptor.withLock { $0.take() }
        if let number { Self.handler.withLock { $0 }?(.closes(number)) }
    }
}

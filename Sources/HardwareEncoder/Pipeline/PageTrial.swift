// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// Whether pictures can be coded where they lie in memory of this process: a driver may take pages and fail over them only
/// when a picture is submitted, as kernels pin them then. Of an encoder that fails before anything has come out of it, the
/// next one on that device copies.
final class PageTrial: Sendable {
    private struct State {
        var usesPages = false
        var hasProduced = false
    }

    /// Devices on which pages are not tried again in this process.
    private static let failed = Mutex<Set<String>>([])

    private let device: String
    private let state = Mutex(State())

    /// - Parameter device: The path of the render node.
    init(device: String) { self.device = device }

    /// Whether pages may be told to the driver.
    var isAllowed: Bool { !Self.failed.withLock { $0.contains(device) } }

    /// Notes that a picture is about to be coded where it lies.
    func noteUse() { state.withLock { $0.usesPages = true } }

    /// Notes that a picture has come out.
    func noteSuccess() { state.withLock { $0.hasProduced = true } }

    /// Notes that the encoder has failed.
    func noteFailure() {
        let isSuspect = state.withLock { $0.usesPages && !$0.hasProduced }
        if isSuspect { _ = Self.failed.withLock { $0.insert(device) } }
    }
}

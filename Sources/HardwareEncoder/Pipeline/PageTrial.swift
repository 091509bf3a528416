// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// Determines whether pictures can be encoded in place from memory of this process. A driver may accept pages and fail
/// only when a picture is submitted, because kernels pin the pages then. If an encoder fails before its first output,
/// the next one on that device copies pictures.
final class PageTrial: Sendable {
    private struct State {
        var usesPages = false
        var hasProduced = false
    }

    /// The devices on which pages are no longer tried in this process.
    private static let failed = Mutex<Set<String>>([])

    private let device: String
    private let state = Mutex(State())

    /// - Parameter device: The path of the render node.
    init(device: String) { self.device = device }

    /// Whether pages may be passed to the driver.
    var isAllowed: Bool { !Self.failed.withLock { $0.contains(device) } }

    /// Notes that a picture is about to be encoded in place.
    func noteUse() { state.withLock { $0.usesPages = true } }

    /// Notes that a picture was returned.
    func noteSuccess() { state.withLock { $0.hasProduced = true } }

    /// Notes that the encoder has failed.
    func noteFailure() {
        let isSuspect = state.withLock { $0.usesPages && !$0.hasProduced }
        if isSuspect { _ = Self.failed.withLock { $0.insert(device) } }
    }
}

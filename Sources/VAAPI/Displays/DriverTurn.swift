// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch

/// Serializes the start and end of drivers in a process.
///
/// Drivers share libraries, and some of these fail when one user starts while another ends: libdrm_amdgpu 2.4.114
/// aborts with `update_references: Assertion "atomic_read(src) > 0" failed` in `amdgpu_device_initialize`.
enum DriverTurn {
    /// Starts at zero, because a semaphore must not be destroyed below its initial value.
    private static let free: DispatchSemaphore = {
        let semaphore = DispatchSemaphore(value: 0)
        semaphore.signal()
        return semaphore
    }()

    /// The longest wait for a turn. A driver that takes longer hangs, and must not block others.
    private static let patience = Duration.seconds(5)

    /// Calls `vaInitialize` or `vaTerminate` in turn.
    static func take<Result>(_ body: () -> Result) -> Result {
        let isMine = wait()
        defer { if isMine { free.signal() } }
        return body()
    }

    /// Dispatch waits by wall-clock time, which jumps when a suspended system resumes: a wait that ends too early is
    /// continued.
    private static func wait() -> Bool {
        let end = SuspendingClock.now + patience
        while .now < end {
            if free.wait(timeout: .now() + .seconds(1)) == .success { return true }
        }
        return false
    }
}

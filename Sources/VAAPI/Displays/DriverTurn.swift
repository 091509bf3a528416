// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch

/// Turns at starting and ending drivers, one at a time in a process.
///
/// Drivers share libraries, and those do not all bear that one user comes while another goes: libdrm_amdgpu 2.4.114
/// aborts with `update_references: Assertion "atomic_read(src) > 0" failed` in `amdgpu_device_initialize`.
enum DriverTurn {
    /// It begins with none, because a semaphore must not end below where it began.
    private static let free: DispatchSemaphore = {
        let semaphore = DispatchSemaphore(value: 0)
        semaphore.signal()
        return semaphore
    }()

    /// How long a turn is waited for. One that takes longer hangs, and others must not hang with it.
    private static let patience = Duration.seconds(5)

    /// Calls `vaInitialize` or `vaTerminate` when it is its turn.
    static func take<Result>(_ body: () -> Result) -> Result {
        let isMine = wait()
        defer { if isMine { free.signal() } }
        return body()
    }

    /// Dispatch waits by the time of day, which jumps when a suspended system resumes: what ends too early goes on.
    private static func wait() -> Bool {
        let end = SuspendingClock.now + patience
        while .now < end {
            if free.wait(timeout: .now() + .seconds(1)) == .success { return true }
        }
        return false
    }
}

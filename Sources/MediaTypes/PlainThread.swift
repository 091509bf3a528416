// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc

/// A detached POSIX thread, for calls that block and may never return.
package enum PlainThread {
    /// Runs `body` on a thread that ends with it, while the calling task is suspended.
    ///
    /// - Parameter name: As ``start(name:_:)``.
    /// - Throws: `outOfMemory` if the system has no thread left; what `body` throws.
    package static func result<Value: Sendable>(
        name: String,
        _ body: @escaping @Sendable () throws(MediaError) -> Value
    ) async throws(MediaError) -> Value {
        typealias Continuation = CheckedContinuation<Result<Value, MediaError>, Never>
        let result = await withCheckedContinuation { (continuation: Continuation) in
            do throws(MediaError) {
                try start(name: name) { continuation.resume(returning: Result(catching: body)) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    private final class Body {
        let run: () -> Void
        init(run: @escaping () -> Void) { self.run = run }
    }

    /// Starts a thread that runs `body` and ends.
    ///
    /// - Parameter name: Shown by `ps -T`; at most 15 bytes of it.
    /// - Throws: `outOfMemory` if the system has no thread left.
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(MediaError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))

        let context = Unmanaged.passRetained(
            Body {
                _ = linux_name_thread(String(name.prefix(15)))
                body()
            }
        )
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            &attributes,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            },
            context.toOpaque()
        )
        guard status != 0 else { return }
        context.release()
        throw MediaError(.outOfMemory, "no thread can be started", call: "pthread_create", status: Int(status))
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import Synchronization

/// A detached POSIX thread, for calls that block and may never return.
package enum PlainThread {
    /// Runs `body` on a thread that ends with it, while the calling task is suspended.
    ///
    /// - Parameter name: As in ``start(name:_:)``.
    /// - Throws: `outOfMemory` if the system cannot create a thread; any error of `body`.
    package static func result<Value: Sendable>(
        name: String,
        _ body: @escaping @Sendable () throws(MediaError) -> Value
    ) async throws(MediaError) -> Value {
        let outcome = FirstValue<Result<Value, MediaError>>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard outcome.resume(continuation) else { return }
                do throws(MediaError) {
                    try start(name: name) { outcome.set(Result(catching: body)) }
                } catch {
                    outcome.set(.failure(error))
                }
            }
        } onCancel: {
            outcome.set(.failure(MediaError(.cancelled, "the call was cancelled")))
        }
        return try result.get()
    }

    private final class Body {
        let run: () -> Void
        init(run: @escaping () -> Void) { self.run = run }
    }

    /// Starts a thread that runs `body` and ends.
    ///
    /// - Parameter name: The name that `ps -T` shows; at most 15 bytes of it are used.
    /// - Throws: `outOfMemory` if the system cannot create a thread.
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

/// Passes the first of several values to a continuation, whichever of the two comes first.
private final class FirstValue<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case waiting(CheckedContinuation<Value, Never>)
        case set(Value)
        case done
    }

    private let state = Mutex(State.empty)

    /// Resumes the continuation with the first value, now or when there is one.
    ///
    /// - Returns: Whether there is none yet.
    func resume(_ continuation: CheckedContinuation<Value, Never>) -> Bool {
        let value = state.withLock { state -> Value? in
            guard case .set(let value) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .done
            return value
        }
        guard let value else { return true }
        continuation.resume(returning: value)
        return false
    }

    /// Sets the value if there is none yet.
    func set(_ value: Value) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .empty: state = .set(value)
            case .waiting(let continuation):
                state = .done
                return continuation
            case .set, .done: break
            }
            return nil
        }
        continuation?.resume(returning: value)
    }
}

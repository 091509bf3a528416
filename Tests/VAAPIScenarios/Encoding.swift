// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import VAAPI

enum Encoding {
    /// `encode WIDTH HEIGHT PICTURES FILE`: a line for each segment, `picture N size S status 0xS`, and the stream into the
    /// file. A failed picture is said and passed over.
    static func encode(_ arguments: [String]) throws {
        let numbers = arguments.prefix(3).compactMap { Int($0) }
        try expect(numbers.count == 3 && arguments.count == 4, "encode WIDTH HEIGHT PICTURES FILE")
        var stream: [UInt8] = []
        do {
            let display = try Scenarios.display()
            let encoder = try SmallEncoder(display, width: numbers[0], height: numbers[1])
            var state = UploadState()
            for number in 0..<numbers[2] {
                let pattern = Pattern(width: encoder.input.width, height: encoder.input.height, seed: number)
                try encoder.input.withWritablePlanes(&state) { pattern.draw($0.bytes, $0.planes) }
                do {
                    try encoder.submit(number)
                    try encoder.output.withSegments { segments in
                        for segment in segments {
                            let status = String(segment.status & 0xFF00, radix: 16)
                            say("picture \(number) size \(segment.size) status 0x\(status)")
                            stream += segment.bytes
                        }
                    }
                } catch {
                    say("picture \(number) \(error)")
                    // It may be under way all the same.
                    _ = try encoder.output.wait()
                }
            }
            say("way \(state.way.map(\.rawValue) ?? "-") copies \(state.way?.copies ?? 0)")
        }
        let file = open(arguments[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try expect(file >= 0 && write(file, stream, stream.count) == stream.count, arguments[3])
        close(file)
        say("done")
    }

    /// Submits on one thread, waits and reads on another.
    static func acrossThreads() throws {
        let pictures = 30
        let encoder = SharedEncoder(try SmallEncoder(try Scenarios.display(), width: 64, height: 64))
        let submitted = Semaphore()
        let collected = Semaphore()
        let collector = try Thread {
            for number in 0..<pictures {
                submitted.wait()
                do {
                    let size = try encoder.value.collect().count
                    say("picture \(number) size \(size)")
                } catch {
                    say("error \(error)")
                }
                collected.signal()
            }
        }
        for number in 0..<pictures {
            try encoder.value.submit(number)
            submitted.signal()
            collected.wait()
        }
        collector.join()
        say("done")
    }
}

/// An encoder that several threads hold.
final class SharedEncoder: Sendable {
    let value: SmallEncoder
    init(_ value: consuming SmallEncoder) { self.value = value }
}

/// A thread of its own, with a body.
struct Thread: ~Copyable {
    private let thread: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    init(_ run: @escaping @Sendable () -> Void) throws {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(run))
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                argument.map { Unmanaged<Body>.fromOpaque($0).takeRetainedValue().run() }
                return nil
            },
            body.toOpaque()
        )
        try expect(code == 0, "pthread_create \(code)")
        self.thread = thread
    }

    consuming func join() { pthread_join(thread, nil) }
}

/// A semaphore of the C library's.
final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}

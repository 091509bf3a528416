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

    /// `many-pictures PICTURES ENCODERS`: encodes without anything new to encode, with one encoder after the other. Says how
    /// descriptors and memory have grown since the first tenth.
    static func manyPictures(_ arguments: [String]) throws {
        let numbers = arguments.compactMap { Int($0) }
        try expect(numbers.count == 2 && arguments.count == 2, "many-pictures PICTURES ENCODERS")
        var before = (descriptors: 0, kilobytes: 0)
        do {
            let display = try Scenarios.display()
            for round in 0..<numbers[1] {
                if round == numbers[1] / 10 { before = (openDescriptors(), residentKilobytes()) }
                let encoder = try SmallEncoder(display, width: 64, height: 64)
                for number in 0..<numbers[0] {
                    try encoder.submit(number)
                    try expect(try !encoder.collect().isEmpty, "a picture is empty")
                }
            }
            say("descriptors \(openDescriptors() - before.descriptors)")
            say("kilobytes \(residentKilobytes() - before.kilobytes)")
        }
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

/// How many descriptors the process has.
func openDescriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
}

/// The process's memory that is in use (`/proc/self/statm`).
func residentKilobytes() -> Int {
    guard let file = fopen("/proc/self/statm", "re") else { return -1 }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 256)
    guard fgets(&text, Int32(text.count), file) != nil else { return -1 }
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let pages = String(decoding: bytes, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024
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

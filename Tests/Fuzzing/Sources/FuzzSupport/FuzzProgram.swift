// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// What every fuzz target has in common.
package enum FuzzProgram {
    /// Makes the seeds and ends, if the environment asks for it: `FUZZ_SEEDS` is the folder that they go into. For
    /// `LLVMFuzzerInitialize`.
    package static func start(seeds: () throws -> [[UInt8]]) -> CInt {
        // An end of a socket that is gone is an error here as in the programs, and never a signal.
        signal(SIGPIPE, SIG_IGN)
        guard let folder = getenv("FUZZ_SEEDS") else { return 0 }
        do {
            for (index, seed) in try seeds().enumerated() {
                write(seed, to: "\(String(cString: folder))/seed-\(index)")
            }
        } catch {
            fatalError("seeds cannot be made: \(error)")
        }
        exit(0)
    }

    private static func write(_ bytes: [UInt8], to path: String) {
        guard let file = fopen(path, "w") else { fatalError("\(path) cannot be written") }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}

/// Sees to it that runs leave no descriptors and no threads behind. For targets that make some.
package struct LeakWatch {
    private static let interval = 256
    private var runs = 0
    private var baseline: (descriptors: Int, threads: Int)?

    /// Nothing has run yet.
    package init() {}

    /// Counts after a run, now and then. What runs have started may take its time to end, so a count that is too high
    /// is repeated for a long while before the program is ended.
    ///
    /// - Parameter settle: Gives back what the target itself keeps from run to run.
    package mutating func check(settle: () -> Void = {}) {
        runs += 1
        guard runs % Self.interval == 0 else { return }
        guard let baseline else {
            usleep(500_000)
            settle()
            baseline = Self.counts
            return
        }
        for _ in 0..<3000 {
            settle()
            let counts = Self.counts
            if counts.descriptors <= baseline.descriptors && counts.threads <= baseline.threads { return }
            usleep(10_000)
        }
        let open = Self.entries("/proc/self/fd").map { name in
            var target = [CChar](repeating: 0, count: 200)
            let count = readlink("/proc/self/fd/\(name)", &target, target.count)
            return String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        fatalError("\(Self.counts) after \(runs) runs, \(baseline) after \(Self.interval): \(open)")
    }

    private static var counts: (descriptors: Int, threads: Int) {
        (entries("/proc/self/fd").count, entries("/proc/self/task").count)
    }

    private static func entries(_ folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
            )
        }
        return names
    }
}

/// Reads every byte: what cannot be read shows as a crash.
package func touch(_ base: UnsafeRawPointer, _ byteCount: Int) {
    let copy = [UInt8](UnsafeRawBufferPointer(start: base, count: byteCount))
    precondition(copy.count == byteCount)
}

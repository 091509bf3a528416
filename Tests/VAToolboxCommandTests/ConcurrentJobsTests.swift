// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport
import Testing

/// Transcodes that share a process: what `scripts/verify concurrency` does with 50 of them.
@Suite(.timeLimit(.minutes(60))) struct ConcurrentJobsTests {
    /// Half of them is cancelled. Each of the others has the output and the log that it has alone, and descriptors, threads,
    /// processes and files are as before.
    @Test func twelveAtOnceAreAsEachIsAlone() throws {
        let scratch = try Scratch()
        let own = ["VATOOLBOX_STATE=\(scratch.path("state"))"]
        let result = try scratch.run(
            Scratch.machine(nodes: "128=generic", driver: "libref", own)
                + [try BuiltProgram.path("ConcurrentJobs"), scratch.folder, "jobs=12", "rounds=2", "gpu=yes"]
        )
        #expect(result.status == 0 && result.output.hasSuffix("passed\n"), "\(result)")
    }
}

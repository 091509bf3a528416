// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import VAAPI

enum Waiting {
    /// Waits in every way, twice.
    static func run() throws {
        do {
            let encoder = try SmallEncoder(try Scenarios.display(), width: 64, height: 64)
            for number in 0..<2 {
                try expect(try encoder.output.wait(), "an idle buffer is waited for")
                try encoder.submit(number)
                try expect(try encoder.output.wait(atMost: .seconds(300)), "the picture is not complete")
                try expect(try encoder.output.wait(), "a complete picture is waited for")
                try expect(try encoder.input.wait(atMost: .seconds(300)), "the surface is in use")
                try expect(try encoder.input.wait(), "the surface is in use")
                try expect(try encoder.input.status().contains(.ready), "the surface is not ready")
                try expect(try !encoder.collect().isEmpty, "the picture is empty")
            }
        }
        say("done")
    }

    /// Waits for one picture with a limit, for the next without.
    static func both() throws {
        let encoder = try SmallEncoder(try Scenarios.display(), width: 64, height: 64)
        try encoder.submit(0)
        say("with a limit: \(try encoder.output.wait(atMost: .seconds(300)) ? "complete" : "not complete")")
        try encoder.submit(1)
        do {
            _ = try encoder.output.wait()
            say("without: complete")
        } catch {
            say("without: \(error)")
        }
    }

    /// `poll buffer|surface|status NANOSECONDS`: asks again and again whether a picture is complete, each time with that timeout;
    /// gives up after a minute.
    static func poll(_ arguments: [String]) throws {
        let nanoseconds = arguments.last.flatMap { Int64($0) } ?? 0
        do {
            let encoder = try SmallEncoder(try Scenarios.display(), width: 64, height: 64)
            try encoder.submit(0)
            let end = ContinuousClock.now + .seconds(60)
            var isComplete = false
            while !isComplete && .now < end {
                let timeout = Duration.nanoseconds(nanoseconds)
                switch arguments.first {
                case "buffer": isComplete = try encoder.output.wait(atMost: timeout)
                case "surface": isComplete = try encoder.input.wait(atMost: timeout)
                default: isComplete = try encoder.input.status().contains(.ready)
                }
                if !isComplete { usleep(1_000) }
            }
            say(isComplete ? "complete" : "never complete")
        }
        say("done")
    }

    /// A picture that the driver never completes. Its buffer's end would wait for it: the process leaves at once.
    static func unfinishedPicture() throws {
        let encoder = SharedEncoder(try SmallEncoder(try Scenarios.display(), width: 64, height: 64))
        // Kept for ever: where no way leads to the end of its scope, Swift lets go of a value after its last use.
        _ = Unmanaged.passRetained(encoder)
        try encoder.value.submit(0)
        for timeout in [Duration.seconds(-1), .zero, .milliseconds(1)] {
            try expect(try !encoder.value.output.wait(atMost: timeout), "the picture is complete")
            try expect(try !encoder.value.input.wait(atMost: timeout), "the surface is free")
        }
        try expect(try encoder.value.input.status().contains(.rendering), "the surface is not in use")
        say("done")
        _exit(0)
    }
}

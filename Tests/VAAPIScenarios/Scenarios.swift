// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import VAAPI

/// Uses the VAAPI layer on the first render node and says in lines what came of it. The tests run it under the shim that
/// shows render nodes, which has to be loaded before the program.
///
///     VAAPIScenarios SCENARIO [ARGUMENT...]
@main enum Scenarios {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first, let scenario = all[name] else {
            say("no such scenario; there are: \(all.keys.sorted().joined(separator: " "))")
            exit(2)
        }
        do {
            try scenario(Array(arguments.dropFirst()))
        } catch {
            say("error \(error)")
            exit(1)
        }
        // What runs at the end of the process, drivers' included, is part of the scenario.
    }

    private static let all: [String: @Sendable ([String]) throws -> Void] = [
        "all-calls": { _ in try AllCalls.run() },
        "both-waits": { _ in try Waiting.both() },
        "capabilities": { _ in try Capabilities.printAll() },
        "capability-model": { _ in try Capabilities.printModels() },
        "dma-buf": { try Sharing.dmaBuf($0) },
        "encode": { try Encoding.encode($0) },
        "every-fault": { _ in try AllCalls.runWithEveryFault() },
        "keep-mapped": { _ in try Uploading.keepMapped() },
        "loose-ends": { _ in try LooseEnds.run() },
        "many-pictures": { try Encoding.manyPictures($0) },
        "poll": { try Waiting.poll($0) },
        "process": { _ in try Processing.run() },
        "refused-parameters": { try LooseEnds.refusedParameters($0) },
        "threads": { _ in try Encoding.acrossThreads() },
        "unfinished-picture": { _ in try Waiting.unfinishedPicture() },
        "upload": { _ in try Uploading.run() },
        "user-pointer": { _ in try Sharing.userPointer() },
        "waiting": { _ in try Waiting.run() },
    ]

    static let node = "/dev/dri/renderD128"

    /// The display, whose errors are said as they come.
    static func display() throws(DisplayError) -> Display {
        try Display(
            path: node,
            onMessage: { message in
                if message.severity == .error { say("message \(message.text)") }
            }
        )
    }
}

/// Says a line at once, so that it is there even if the driver ends the process.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// What a scenario found wrong.
struct Wrong: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw Wrong(what()) }
}

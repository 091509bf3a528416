// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// A folder that lives as long as this value.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "bitstream-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }
}

/// Runs a tool found on the search path to its end, which must be a good one, and returns what it said on both outputs.
func run(_ tool: String, _ arguments: [String], in folder: TemporaryFolder) throws -> String {
    let log = folder.url.appending(path: "\(tool)-\(UUID().uuidString).log")
    try Data().write(to: log)
    let output = try FileHandle(forWritingTo: log)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // An encoder that hangs (x265 3.5 does on some options) fails the test instead of stopping the run.
    process.arguments = ["timeout", "--signal=KILL", "180", tool] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    let text = try String(decoding: Data(contentsOf: log), as: UTF8.self)
    try #require(process.terminationStatus == 0, "\(tool) \(arguments.joined(separator: " "))\n\(text)")
    return text
}

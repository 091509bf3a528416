// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import HelperIPC
import MediaTypes
import TestSupport

/// Measures what it costs that an encoder works in a helper process, and what an encoder of a GPU costs the processor.
/// `scripts/verify isolation-cost`, `isolation-sessions` and `hardware-cost` build and run it and judge what it prints.
///
/// It is a helper program itself, for the null encoder: started as helpers are, it serves that.
@main enum IsolationMeter {
    private static let usage = "usage: IsolationMeter paced|full|start|sessions|hardware [--OPTION VALUE...]"

    static func main() async {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "--parent" { serve() }
        do {
            try await run(arguments)
        } catch {
            fail("IsolationMeter: \(error)", 1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count >= 2, let options = MeterOptions(arguments.dropFirst(2)) else { return fail(usage, 64) }
        switch arguments[1] {
        case "paced": try await CostTrial(options).run(isPaced: true)
        case "full": try await CostTrial(options).run(isPaced: false)
        case "start": try StartTrial(options).run()
        case "sessions": try await SessionTrial(options).run()
        case "hardware": try await HardwareTrial(options).run()
        default: fail(usage, 64)
        }
    }

    private static func serve() -> Never {
        do {
            try HelperServer(socket: 3, services: HelperServices(encoders: [NullFactory()])).run()
        } catch {
            _exit(error.code == .inputOutput ? 0 : 1)
        }
        exit(0)
    }

    private static func fail(_ text: String, _ status: Int32) {
        say(text, to: STDERR_FILENO)
        exit(status)
    }
}

extension MeterOptions {
    /// Starts helpers as the options say: one of the helper programs, or this program for the null encoder.
    func makePool() throws -> HelperPool {
        var options = HelperPool.Options(program)
        if encoder == "null" {
            options.path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        }
        options.connectionsPerHelper = perHelper
        options.keepsSpare = spare > 0
        options.log = { _ in }
        return try HelperPool(options)
    }
}

/// Writes a line at once.
func say(_ line: String, to descriptor: Int32 = STDOUT_FILENO) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(descriptor, bytes, bytes.count)
}

/// What is measured, and how long.
struct MeterOptions: Sendable {
    /// `x264` or `null`.
    var encoder = "x264"
    /// `encoding` or `decoding`: the helper in which x264 works.
    var program = HelperProgram.encoding
    /// Of encoders of GPUs: `h264` or `hevc`.
    var codec = CodecSelection.h264
    var pairs = 31
    /// Frames of a segment or of a session.
    var frames = 200
    /// Microseconds from frame to frame of paced feeding.
    var interval = 16_667
    var width = 1920
    var height = 1080
    /// How many sessions are run.
    var sessions = 1000
    /// How many of them at a time.
    var together = 4
    /// How many encoders share a helper.
    var perHelper = 1
    /// Whether a spare helper is kept: 0 or 1.
    var spare = 0
    /// Whether encoders work in this process, for comparison: 0 or 1.
    var here = 0
    /// How every session ends, by its number; all ways in turn if there is none.
    var ending: Int?

    /// Reads `--name value` pairs; `nil` if there is anything else.
    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let text = rest.popFirst() else { return nil }
            if name == "--encoder" {
                encoder = text
                continue
            }
            if name == "--codec" {
                guard let known = CodecSelection(rawValue: text) else { return nil }
                codec = known
                continue
            }
            if name == "--program" {
                guard let known = ["encoding": HelperProgram.encoding, "decoding": .decoding][text] else { return nil }
                program = known
                continue
            }
            guard let number = Int(text), number >= 0 else { return nil }
            switch name {
            case "--pairs": pairs = number
            case "--frames": frames = number
            case "--interval": interval = number
            case "--width": width = number
            case "--height": height = number
            case "--sessions": sessions = number
            case "--together": together = number
            case "--per-helper": perHelper = number
            case "--spare": spare = number
            case "--here": here = number
            case "--ending": ending = number
            default: return nil
            }
        }
        guard ["x264", "null"].contains(encoder), pairs > 0, frames > 0, together > 0 else { return nil }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import VAToolbox

/// Uses sessions on the first GPU as an application does, and says in lines of JSON what came of it. The checks of
/// `Tests/Hardware` run it under the shim that shows render nodes, which has to be loaded before the program.
///
///     HardwareScenarios encode OUTPUT [OPTION...]     one session; its samples and events, the stream in Annex B
///     HardwareScenarios transcode OUTPUT [OPTION...]  a stream that is decoded and encoded again; the streams in Annex B
///     HardwareScenarios sessions [OPTION...]          many sessions; says how far it is, and waits for a line
///     HardwareScenarios support CODEC [OPTION...]     what the GPUs say to encoding and decoding a codec
///     HardwareScenarios rows                          sessions that its input asks for, one in each line of JSON
@main enum HardwareScenarios {
    static func main() async {
        let words = CommandLine.arguments
        do {
            switch words.dropFirst().first {
            case "encode" where words.count > 2:
                try await RecordedSession(ScenarioOptions(Array(words[3...])), output: words[2]).run()
            case "transcode" where words.count > 2:
                try await DeviceTranscode(ScenarioOptions(Array(words[3...])), output: words[2]).run()
                // Helpers end in an orderly way only while this process exists.
                await waitForChildren()
            case "sessions":
                try await ManySessions(ScenarioOptions(Array(words[2...]))).run()
            case "support" where words.count > 2:
                guard let codec = VideoCodec(rawValue: words[2]) else { throw Wrong("no such codec: \(words[2])") }
                await SupportAnswers(codec, try ScenarioOptions(Array(words[3...]))).report()
            case "rows": try await SessionRows().run()
            default:
                throw Wrong(
                    "usage: HardwareScenarios encode OUTPUT|transcode OUTPUT|sessions|support CODEC|rows [OPTION...]"
                )
            }
            checkLeaks()
            // A driver that hangs, or crashes at its end, would keep the process or spoil its status.
            _exit(0)
        } catch {
            say("error", ["text": "\(error)"])
            _exit(1)
        }
    }
}

/// Writes a line at once.
func say(_ kind: String, _ values: [String: Any]) {
    var object = values
    object["kind"] = kind
    guard var line = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]) else { return }
    line.append(0x0A)
    line.withUnsafeBytes { bytes in _ = write(STDOUT_FILENO, bytes.baseAddress, bytes.count) }
}

/// Says where the program is, and waits until it may go on; first until it has come to rest. Then memory that is free, but
/// kept by the C library in one of the arenas that it has for threads, is given back: it is nobody's.
/// - Parameter open: How many sessions there are meanwhile, if that is the point of it.
func pause(_ count: Int, open: Int? = nil) {
    var place = ["count": count]
    place["open"] = open
    say("resting", place)
    _ = readLine()
    if let trim = dlsym(nil, "malloc_trim") {
        _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
    }
    say("pause", place)
    _ = readLine()
}

/// Looks for memory that nothing points to, if the program is built with the address sanitizer and that is asked to
/// (`detect_leaks=1`): it would do so at an ordinary end only. Ends the program if there is some.
private func checkLeaks() {
    guard let symbol = dlsym(nil, "__lsan_do_leak_check") else { return }
    unsafeBitCast(symbol, to: (@convention(c) () -> Void).self)()
}

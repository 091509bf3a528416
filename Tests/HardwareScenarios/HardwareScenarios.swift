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
            case "sessions":
                try await ManySessions(ScenarioOptions(Array(words[2...]))).run()
            case "support" where words.count > 2:
                guard let codec = VideoCodec(rawValue: words[2]) else { throw Wrong("no such codec: \(words[2])") }
                await SupportAnswers(codec, try ScenarioOptions(Array(words[3...]))).report()
            case "rows": try await SessionRows().run()
            default:
                throw Wrong("usage: HardwareScenarios encode OUTPUT|sessions|support CODEC|rows [OPTION...]")
            }
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

/// Says where the program is, and waits until it may go on.
func pause(_ count: Int) {
    say("pause", ["count": count])
    _ = readLine()
}

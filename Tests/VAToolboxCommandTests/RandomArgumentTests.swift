// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import BitstreamSyntax
import Foundation
import MediaTypes
import TestSupport
import Testing
import Transcoding

@testable import VAToolboxCommand

/// Command lines of `encode` that are damaged at random: each becomes a request whose configuration can be checked, or an
/// error that says what was wrong. The same ones every time; `VATOOLBOX_RANDOM_ARGUMENTS` says how many.
@Suite struct RandomArgumentTests {
    private static let lines = [
        "in.mp4 -o out.mp4 --codec auto --bitrate 2.5M --peak-bitrate 4M --peak-window 1.5 --keyframe-interval 5s",
        "- -o - --format ts --crf 22.5 --size 1280x720 --fit letterbox --fps 30000/1001 --roi 0,0,64,64,-6",
        "in.yuv -o out.h264 --input-size 640x360 --input-fps 25 --input-pixel-format nv12 --qp 30 --level 4.1",
        "in.mp4 -o out.h265 --codec hevc --profile main10 --bit-depth 10 --b-frames 3 --slices 4 --threads 2 --level 5",
        "in.mp4 -o null --device /dev/dri/renderD128 --require-hardware --low-power on --async-depth 2 --start 01:02:03.5",
        "in.mp4 -o out.mov --device software --preset veryfast --tune film --asm sse2 --duration 90 --cbr --bitrate 800k",
        "in.mp4 -o out.mp4 --rate-control qvbr --crf 20 --realtime --low-latency --temporal-layers 2 --max-sessions 3",
    ].map { $0.split(separator: " ").map(String.init) }

    /// What numbers, times and sizes are most likely to be read wrongly from.
    private static let values = [
        "", "-", "--", "0", "-0", "-1", "+1", "1e9", "1e-9", "9223372036854775807", "9223372036854775808", "0x10",
        "nan",
        "inf", ".5", "5.", "1/0", "0/0", "-1/3", "4294967296/4294967295", "99999999999999999999999999", "1k", "1.5kM",
        "1K",
        "x", "0x0", "65536x65536", "9223372036854775807x2", ":", "::", "1:2:3:4", "00:60", "99999999:00:00", "5ss", "s",
        ",,,,", "1,2,3,4,5,6", "0,0,9223372036854775807,1,-9223372036854775807", "\u{0}", "\u{FEFF}8", "８", "é",
    ]

    @Test func everyLineIsARequestOrAnError() throws {
        var random = SplitMix(2026)
        let count = ProcessInfo.processInfo.environment["VATOOLBOX_RANDOM_ARGUMENTS"].flatMap(Int.init) ?? 500
        var outcomes = (requests: 0, refused: 0, malformed: 0)
        for _ in 0..<count {
            let words = damaged(Self.lines[random.below(Self.lines.count)], &random)
            let command: EncodeCommand
            do {
                command = try EncodeCommand.parse(words)
            } catch {
                #expect(!EncodeCommand.fullMessage(for: error).isEmpty, "\(words)")
                outcomes.malformed += 1
                continue
            }
            do throws(MediaError) {
                let configuration = try command.request(inputIsLive: random.isOne(of: 2)).video.base
                outcomes.requests += 1
                for codec in VideoCodec.allCases {
                    guard let (checked, _) = try? configuration.validated(for: codec) else { continue }
                    #expect(checked.width > 0 && checked.height > 0, "\(words)")
                }
            } catch {
                #expect(error.code == .invalidArgument || error.code == .unsupported, "\(words): \(error)")
                #expect(!error.description.isEmpty, "\(words)")
                outcomes.refused += 1
            }
        }
        // A test of which all lines fail for the same reason would find nothing.
        #expect(outcomes.requests > 0 && outcomes.refused > 0 && outcomes.malformed > 0, "\(outcomes)")
    }

    private func damaged(_ line: [String], _ random: inout SplitMix) -> [String] {
        var words = line
        for _ in 0...random.below(3) {
            let place = random.below(words.count)
            switch random.below(7) {
            case 0: words.remove(at: place)
            case 1: words.insert(words[random.below(words.count)], at: place)
            case 2: words.swapAt(place, random.below(words.count))
            case 3, 4: words[place] = Self.values[random.below(Self.values.count)]
            case 5:
                let other = Self.lines[random.below(Self.lines.count)]
                words += other.suffix(random.below(other.count))
            default:
                var characters = Array(words[place].unicodeScalars)
                let character = Unicode.Scalar(UInt8(random.below(128)))
                if characters.isEmpty || random.isOne(of: 2) {
                    characters.insert(character, at: random.below(characters.count + 1))
                } else {
                    characters[random.below(characters.count)] = character
                }
                words[place] = String(String.UnicodeScalarView(characters))
            }
            if words.isEmpty { words.append("") }
        }
        return words
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import SoftwareEncoder
import Synchronization
import TestSupport
import Testing
import VideoDecoding

@testable import HelperIPC

extension ProcessTests {
    /// The helper programs confine themselves, say so when they cannot, and work in either case.
    @Suite struct ConfinementTests {
        private let path: String
        private let folder: URL
        private static let identity = EncoderIdentity(name: "x264", codec: .h264)

        init() throws {
            path = try BuiltProgram.path("vatoolbox-helper")
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("vatoolbox-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        /// A program that starts the helper in its place in another way.
        private func script(_ command: String) throws -> String {
            let script = folder.appendingPathComponent("helper").path
            try ProgramText.write("#!/bin/sh\n\(command) \"$@\"\n", to: script)
            return script
        }

        private final class Lines: Sendable {
            private let lines = Mutex<[HelperLogLine]>([])
            func add(_ line: HelperLogLine) { lines.withLock { $0.append(line) } }
            var warnings: [String] { lines.withLock { $0.filter { $0.level == "warning" }.map(\.text) } }
        }

        private func factory(_ path: String, _ lines: Lines) throws -> RemoteEncoderFactory {
            var options = HelperPool.Options()
            options.path = path
            options.log = { lines.add($0) }
            return RemoteEncoderFactory(Self.identity, pool: try HelperPool(options))
        }

        /// Encodes some pictures on several threads.
        private func play(_ factory: any EncoderFactory, _ look: (Take) throws -> Void = { _ in }) throws -> [[UInt8]] {
            var configuration = EncoderConfiguration.small(width: 640, height: 480)
            configuration.software.threads = 4
            let take = try Take(factory, configuration)
            var pictures = try Pictures(.shared, width: 640, height: 480)
            for index in 0..<20 { try take.encode(pictures.next(index)) }
            try look(take)
            try take.encoder.drain()
            #expect(take.outputs.errors.isEmpty)
            return take.outputs.bytes
        }

        private func value(_ take: Take, _ file: String, _ name: String) throws -> [String] {
            try value(#require(take.remote?.processID), file, name)
        }

        /// A line of /proc/PID/status or of /proc/PID/limits.
        private func value(_ process: Int32, _ file: String, _ name: String) throws -> [String] {
            let text = try String(contentsOfFile: "/proc/\(process)/\(file)", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
            return line.dropFirst(name.count).split { $0 == " " || $0 == "\t" }.map { String($0) }
        }

        @Test(arguments: HelperProgram.allCases) func theHelperIsConfinedInAllThreads(program: HelperProgram) throws {
            let lines = Lines()
            let bytes = try play(try factory(BuiltProgram.path(program.name), lines)) { take in
                #expect(try value(take, "status", "NoNewPrivs:") == ["1"])
                #expect(try value(take, "status", "CapEff:") == ["0000000000000000"])
                #expect(try value(take, "status", "CapPrm:") == ["0000000000000000"])
                #expect(try value(take, "limits", "Max core file size").prefix(2) == ["0", "0"])
                #expect(try value(take, "limits", "Max file size").first == "\(4 << 30)")
                #expect(try #require(Int(value(take, "limits", "Max open files")[1])) <= 8192)
                let id = try #require(take.remote?.processID)
                let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")
                #expect(threads.count > 4)
                for thread in threads { #expect(try value(take, "task/\(thread)/status", "Seccomp:") == ["2"]) }
            }
            #expect(bytes == (try play(X264EncoderFactory())))
            Traces.expectNone()
        }

        /// The rights of the helper suffice for libavcodec, with threads that it starts late, and nothing is missing
        /// silently: its pictures are those that it decodes in this process.
        @Test(arguments: [(VideoCodec.h264, "-x264-params slices=4"), (.hevc, "-x265-params log-level=none:wpp=1")])
        func aDecoderIsConfinedInAllThreads(codec: VideoCodec, options: String) throws {
            let stream = try CodedStream(codec, source: "testsrc2=size=640x480:rate=25", options)
            let lines = Lines()
            var settings = HelperPool.Options(.decoding)
            settings.path = try BuiltProgram.path("vatoolbox-decoding-helper")
            settings.log = { lines.add($0) }
            let here = SoftwareDecoderFactory(codec: codec)
            let there = RemoteDecoderFactory(here.identity, pool: try HelperPool(settings))
            let expected = try play(here, stream)
            let pictures = try play(there, stream) { decoder in
                let process = try #require((decoder as? RemoteDecoder)?.processID)
                #expect(try value(process, "status", "NoNewPrivs:") == ["1"])
                #expect(try value(process, "status", "CapEff:") == ["0000000000000000"])
                let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
                #expect(threads.count > 4)
                for thread in threads { #expect(try value(process, "task/\(thread)/status", "Seccomp:") == ["2"]) }
            }
            #expect(expected.count == stream.samples.count && pictures == expected)
            #expect(lines.warnings == [])
            Traces.expectNone()
        }

        /// Decodes a stream on several threads.
        ///
        /// - Returns: The samples of each picture.
        private func play(
            _ factory: any DecoderFactory,
            _ stream: CodedStream,
            _ look: (any DecoderBackend) throws -> Void = { _ in }
        ) throws -> [[UInt8]] {
            let pictures = Mutex<[[UInt8]]>([])
            let request = DecoderRequest(
                formatDescription: try #require(stream.samples.first).formatDescription,
                threadCount: 4
            ) { output in
                guard case .picture(let picture) = output else {
                    Issue.record("\(output)")
                    return
                }
                let bytes = (try? picture.buffer.packed()) ?? []
                pictures.withLock { $0.append(bytes) }
            }
            let decoder = try factory.makeDecoder(request)
            for (number, sample) in stream.samples.enumerated() {
                try decoder.decode(DecoderSample(number: Int64(number), sample: sample))
            }
            try look(decoder)
            try decoder.drain()
            return pictures.withLock { $0 }
        }

        @Test func itCanBeSwitchedOff() throws {
            let lines = Lines()
            let helper = try script("VATOOLBOX_SANDBOX=off exec '\(path)'")
            let bytes = try play(try factory(helper, lines)) { take in
                let outer = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
                #expect(outer.contains("Seccomp:\t\(try value(take, "status", "Seccomp:")[0])\n"))
                #expect(try value(take, "limits", "Max core file size").prefix(2) == ["0", "0"])
            }
            #expect(lines.warnings.count == 1 && lines.warnings[0].contains("VATOOLBOX_SANDBOX is off"))
            #expect(bytes == (try play(X264EncoderFactory())))
            Traces.expectNone()
        }

        @Test func otherModesAreRefusedWithThoseThatAreAllowed() throws {
            let helper = try factory(try script("VATOOLBOX_SANDBOX=of exec '\(path)'"), Lines())
            let error = #expect(throws: MediaError.self) { try Take(helper, .small()) }
            #expect(error?.message.contains("exited with status 64") == true)
            #expect(error?.message.contains("VATOOLBOX_SANDBOX is not valid: given of, allowed on, off") == true)
            Traces.expectNone()
        }

        /// On an old kernel, or in a container that forbids it.
        @Test(arguments: [ENOSYS, EPERM]) func whatTheKernelRefusesIsLogged(error: Int32) throws {
            let calls = "landlock_create_ruleset,seccomp,capset"
            let outer = try BuiltProgram.path("SandboxEscapes")
            let lines = Lines()
            let helper = try script("exec '\(outer)' --refuse \(error) \(calls) '\(path)'")
            let factory = try factory(helper, lines)
            let bytes = try play(factory) { take in
                #expect(try value(take, "status", "NoNewPrivs:") == ["1"])
                let limitations = try #require(take.remote?.limitations)
                #expect(limitations.count == 3)
                for limitation in limitations {
                    #expect(lines.warnings.contains("the sandbox lacks \(limitation)"))
                    #expect(limitation.contains(String(cString: strerror(error))))
                }
            }
            #expect(
                lines.warnings.map { $0.prefix { $0 != ":" } }.sorted() == [
                    "the sandbox lacks Landlock", "the sandbox lacks dropped capabilities",
                    "the sandbox lacks seccomp",
                ]
            )
            #expect(bytes == (try play(X264EncoderFactory())))
            Traces.expectNone()
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Pictures of decoders in helpers are those that the decoder returned.
    @Suite struct RemoteDecoderTests {
        private let pool: HelperPool

        init() throws { pool = try HelperPrograms.pool("FaultyHelper") }

        /// Checks pictures as they come, and keeps the last few.
        private final class Checker: Sendable {
            private struct State {
                var numbers: [Int64] = []
                var wrong: [Int64] = []
                var kept: [(picture: DecodedPicture, expected: EchoPicture)] = []
            }

            private let pictures: [Int64: EchoPicture]
            private let keeps: Int
            private let state = Mutex(State())

            init(_ pictures: [EchoPicture], keeps: Int) {
                self.pictures = Dictionary(uniqueKeysWithValues: zip(0..., pictures).map { (Int64($0), $1) })
                self.keeps = keeps
            }

            @Sendable func use(_ picture: DecodedPicture) {
                state.withLock { state in
                    state.numbers.append(picture.number)
                    guard let expected = pictures[picture.number] else { return state.wrong.append(picture.number) }
                    state.kept.append((picture, expected))
                    // Only when it is released: nothing may have written to it meanwhile.
                    while state.kept.count > keeps { Self.check(state.kept.removeFirst(), &state.wrong) }
                }
            }

            private static func check(
                _ kept: (picture: DecodedPicture, expected: EchoPicture),
                _ wrong: inout [Int64]
            ) {
                let (picture, expected) = kept
                let isEqual = (try? expected.isEqual(to: picture.buffer)) == true
                if !isEqual || picture.isDamaged != expected.isDamaged { wrong.append(picture.number) }
            }

            /// - Returns: The numbers of all pictures in the order in which they came, and of those that are wrong.
            func finish() -> (numbers: [Int64], wrong: [Int64]) {
                state.withLock { state in
                    for kept in state.kept { Self.check(kept, &state.wrong) }
                    state.kept = []
                    return (state.numbers, state.wrong)
                }
            }
        }

        /// Samples in coding order I P B B: the presentation times of each four are 0, 3, 1, 2.
        private static func presentation(_ number: Int64) -> Int64 { number / 4 * 4 + [0, 3, 1, 2][Int(number % 4)] }

        private func play(
            _ name: String,
            _ pictures: [EchoPicture],
            keeps: Int,
            limit: Int
        ) throws -> (numbers: [Int64], wrong: [Int64], outputs: DecoderOutputs) {
            let checker = Checker(pictures, keeps: keeps)
            let outputs = DecoderOutputs(use: checker.use)
            let format = try #require(pictures.first).formatDescription
            let take = try DecoderTake(name, pool, outputs: outputs, format: format) { $0.pictureLimit = limit }
            for (index, picture) in pictures.enumerated() {
                let number = Int64(index)
                try take.decoder.decode(picture.sample(number, presentation: Self.presentation(number)))
            }
            try take.decoder.drain()
            let (numbers, wrong) = checker.finish()
            return (numbers, wrong, outputs)
        }

        @Test(arguments: [("echo", 1, 2), ("reordering", 3, 5), ("threaded", 8, 12)])
        func thousandsOfPicturesComeBackBitForBit(name: String, keeps: Int, limit: Int) throws {
            let pictures = (0..<3000).map { index in
                var picture = EchoPicture(seed: UInt64(index))
                picture.isDamaged = index % 17 == 3
                picture.captions = index % 5 == 0 ? [0xFC, UInt8(index & 0xFF), 0x42] : []
                return picture
            }
            let (numbers, wrong, outputs) = try play(name, pictures, keeps: keeps, limit: limit)
            #expect(wrong == [])
            let shown = (0..<Int64(pictures.count)).sorted { Self.presentation($0) < Self.presentation($1) }
            #expect(numbers == (name == "echo" ? Array(0..<Int64(pictures.count)) : shown))
            #expect(outputs.errors.isEmpty && outputs.damaged.isEmpty)
            Traces.expectNone()
        }

        /// While older pictures of other sizes are kept.
        @Test(arguments: ["echo", "threaded"]) func shapesChangeInMidStream(name: String) throws {
            var random = SplitMix(7)
            var shape = EchoPicture(seed: 0)
            let pictures = (0..<1200).map { index in
                if random.isOne(of: 9) {
                    shape.format = PixelFormat.allCases[random.below(PixelFormat.allCases.count)]
                    (shape.width, shape.height) = (2 + 2 * random.below(40), 2 + 2 * random.below(20))
                }
                shape.seed = UInt64(index)
                return shape
            }
            let (numbers, wrong, outputs) = try play(name, pictures, keeps: 4, limit: 8)
            #expect(wrong == [] && numbers.count == pictures.count && outputs.errors.isEmpty)
            Traces.expectNone()
        }

        @Test func samplesMayBeLargerThanTheirMemory() throws {
            let sizes = [0, 900_000, 600_000, 3_000_000, 1, 2_500_000, 7_000_000, 0]
            let pictures = (0..<40).map { index in
                var picture = EchoPicture(seed: UInt64(index))
                picture.padding = sizes[index % sizes.count]
                return picture
            }
            let (numbers, wrong, _) = try play("echo", pictures, keeps: 1, limit: 3)
            #expect(wrong == [] && numbers == Array(0..<40))
            Traces.expectNone()
        }

        @Test func damageAndMissingPicturesAreReported() throws {
            let take = try DecoderTake("echo", pool)
            let pictures = (0..<6).map { index in
                var picture = EchoPicture(seed: UInt64(index))
                picture.reportsDamage = index % 2 == 1
                picture.isShown = index != 3
                return picture
            }
            try take.decode(pictures)
            try take.decoder.drain()
            #expect(take.outputs.damaged == [1, 3, 5])
            #expect(take.outputs.takeAll().map(\.number) == [0, 1, 2, 4, 5])
        }

        /// After a drain, the next samples follow as before.
        @Test func samplesFollowADrain() throws {
            let take = try DecoderTake("reordering", pool)
            for round in 0..<5 {
                try take.decode((0..<4).map { EchoPicture(seed: UInt64($0)) }, from: Int64(round * 4))
                try take.decoder.drain()
                #expect(take.outputs.takeAll().count == 4)
            }
        }

        @Test func aSampleThatIsNoneFailsTheDecoder() throws {
            let take = try DecoderTake("echo", pool)
            var sample = EchoPicture(seed: 0).sample(0)
            sample.sample.data = CodedData([1, 2, 3])
            let failing = sample
            let error = #expect(throws: MediaError.self) {
                try take.decoder.decode(failing)
                try take.decoder.drain()
            }
            #expect(error?.code == .malformedData && error?.message == "this is no sample of an echo decoder")
        }

        @Test func whatCannotBeIsRefusedHere() throws {
            for limit in [0, -1, 129] {
                let error = #expect(throws: MediaError.self) {
                    _ = try DecoderTake("echo", pool) { $0.pictureLimit = limit }
                }
                #expect(error?.code == .invalidArgument)
            }
            let other = FormatDescription(codec: .hevc, width: 32, height: 16, parameterSets: [[0x40]])
            let error = #expect(throws: MediaError.self) { _ = try DecoderTake("echo", pool, format: other) }
            #expect(error?.code == .invalidArgument)
            let take = try DecoderTake("echo", pool)
            var sample = EchoPicture(seed: 0).sample(0)
            sample.sample.formatDescription = other
            let wrong = sample
            #expect(throws: MediaError.self) { try take.decoder.decode(wrong) }
            let missing = #expect(throws: MediaError.self) { _ = try DecoderTake("none", pool) }
            #expect(missing?.code == .unavailable && missing?.message == "the helper has no such decoder")
            #expect(missing?.cause == nil && missing?.remedies == [])
        }

        /// The program that encodes is named, with the remedies of the one that was wanted.
        @Test func aProgramWithoutDecodersIsAnother() throws {
            let program = try BuiltProgram.path("vatoolbox-helper")
            let encoding = try HelperPrograms.pool("vatoolbox-helper") { $0.program = .decoding }
            let error = #expect(throws: MediaError.self) { _ = try DecoderTake("libavcodec", encoding) }
            #expect(error?.description == "the helper program has no decoders: given libavcodec (\(program))")
            #expect(error?.isPermanent == true && error?.cause == .helperMismatch)
            #expect(error?.remedies == HelperProgram.decoding.remediesForAnother)
            Traces.expectNone()
        }

        /// A picture is passed on to an encoder in another helper as it is, and nobody else can write to it.
        @Test func picturesNeedNoCopyForAnEncoder() throws {
            let take = try DecoderTake("echo", pool)
            try take.decode([EchoPicture(width: 96, height: 64, seed: 5)])
            let picture = try #require(take.outputs.take(1).first)
            guard case .sharedMemory(let memory) = picture.buffer.storage else {
                Issue.record("\(picture.buffer.storage.name)")
                return
            }
            let target = mmap(nil, memory.byteCount, PROT_WRITE, MAP_SHARED, memory.fileDescriptor, 0)
            #expect(target == MAP_FAILED)
            let identity = EncoderIdentity(name: "none-encoding", codec: .h264)
            let encoding = try Take(RemoteEncoderFactory(identity, pool: pool), .small())
            try encoding.encode(picture.buffer)
            try encoding.encoder.drain()
            #expect(encoding.outputs.frames.count == 1 && encoding.encoder.copiedPictures == 0)
        }

        /// Pictures belong to their consumer, whatever becomes of the decoder.
        @Test func picturesOutliveTheirDecoder() throws {
            let expected = (0..<4).map { EchoPicture(seed: UInt64($0)) }
            var take: DecoderTake? = try DecoderTake("echo", pool)
            let outputs = try #require(take).outputs
            try take?.decode(expected)
            let pictures = outputs.take(4)
            take = nil
            for (picture, expected) in zip(pictures, expected) { #expect(try expected.isEqual(to: picture.buffer)) }
        }

        /// An encoder and a decoder in one helper.
        @Test func aHelperServesBoth() throws {
            let shared = try HelperPrograms.pool("FaultyHelper") { $0.connectionsPerHelper = 2 }
            let take = try DecoderTake("echo", shared)
            let identity = EncoderIdentity(name: "none-encoding", codec: .h264)
            let encoding = try Take(RemoteEncoderFactory(identity, pool: shared), .small())
            #expect(encoding.remote?.processID == take.decoder.processID)
            for number in 0..<50 {
                try take.decode([EchoPicture(width: 96, height: 64, seed: UInt64(number))], from: Int64(number))
                try encoding.encode(try #require(take.outputs.take(1).first).buffer)
            }
            try encoding.encoder.drain()
            try take.decoder.drain()
            #expect(encoding.outputs.frames.count == 50)
        }

        private func memoryMaps() -> Int {
            let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
            return maps.split(separator: "\n").count { line in
                line.contains("vatoolbox-decoded") || line.contains("vatoolbox-samples")
            }
        }

        @Test func manySessionsLeaveNothing() throws {
            for round in 0..<40 {
                let take = try DecoderTake(round % 2 == 0 ? "reordering" : "threaded", pool)
                try take.decode((0..<10).map { EchoPicture(width: 16 + round * 2, height: 16, seed: UInt64($0)) })
                if round % 3 != 0 { try take.decoder.drain() }
            }
            Traces.expectNone()
            #expect(memoryMaps() == 0)
        }
    }
}

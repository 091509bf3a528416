// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import HardwareDecoder
import MediaTypes
import Synchronization
import TestSupport
import VideoDecoding

/// Decodes byte streams on the first render node, and compares the pictures with those of the CPU. The shim that shows
/// render nodes has to be loaded before the program.
///
///     DecoderScenarios CODEC [prompt|export] FILE...
///
/// If it is to be prompt, each picture has to come before the next sample. With `export`, the pictures stay in surfaces,
/// and what is compared is their DMA-BUFs.
@main enum DecoderScenarios {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let codec = arguments.first.flatMap(VideoCodec.init), arguments.count > 1 else {
            print("arguments: CODEC [prompt|export] FILE...")
            exit(2)
        }
        do {
            let mode = arguments.dropFirst().first.flatMap(Mode.init)
            try compare(codec, Array(arguments.dropFirst(mode == nil ? 1 : 2)), mode)
            print("done")
        } catch {
            print("error \((error as? MediaError).map { "\($0.code): \($0)" } ?? "\(error)")")
            exit(1)
        }
    }

    private enum Mode: String { case prompt, export }

    private static func compare(_ codec: VideoCodec, _ files: [String], _ mode: Mode?) throws {
        let streams = try files.map { try CodedStream(codec, bytes: [UInt8](Data(contentsOf: URL(filePath: $0)))) }
        let samples = streams.flatMap(\.samples)
        let start = ContinuousClock.now
        let factory = VAAPIDecoderFactory(device: "/dev/dri/renderD128", codec: codec)
        let device = try decode(samples, factory, mode)
        let duration = ContinuousClock.now - start
        let processor = try decode(samples, SoftwareDecoderFactory(codec: codec))
        if mode == .export { return try Exports(device.pictures, processor.pictures).report() }
        print("samples \(samples.count) pictures \(device.pictures.count) copies \(device.copies) in \(duration)")
        print("decoder \(device.name)")
        for damage in device.damaged { print("damaged \(damage)") }
        let order = device.pictures.map(\.number) == processor.pictures.map(\.number)
        print("order \(order ? "equal" : "\(device.pictures.map(\.number)) not \(processor.pictures.map(\.number))")")
        var equal = 0
        for (left, right) in zip(device.pictures, processor.pictures) {
            if try isEqual(left.buffer, right.buffer) { equal += 1 } else { print("picture \(left.number) differs") }
        }
        let formats = Set(device.pictures.map { "\($0.buffer.format.rawValue) \($0.buffer.width)x\($0.buffer.height)" })
        print("equal \(equal) of \(processor.pictures.count): \(formats.sorted().joined(separator: ", "))")
    }

    private struct Outcome {
        var name: String
        var pictures: [DecodedPicture] = []
        var damaged: [String] = []
        var copies = 0
    }

    private static func decode(
        _ samples: [SampleBuffer],
        _ factory: some DecoderFactory,
        _ mode: Mode? = nil
    ) throws -> Outcome {
        let recorder = Recorder()
        let decoder = try factory.makeDecoder(
            DecoderRequest(
                formatDescription: samples[0].formatDescription,
                isLowLatency: mode == .prompt,
                devicePictureLimit: mode == .export ? samples.count : 0
            ) { recorder.add($0) }
        )
        for (index, sample) in samples.enumerated() {
            try decoder.decode(DecoderSample(number: Int64(index), sample: sample))
            if mode == .prompt, recorder.outputs.count != index + 1 {
                throw MediaError(.frameFailed, "the picture of a sample does not come with it", given: "\(index)")
            }
        }
        try decoder.drain()
        var outcome = Outcome(name: decoder.properties.name, copies: decoder.copiedPictures)
        for output in recorder.outputs {
            switch output {
            case .picture(let picture): outcome.pictures.append(picture)
            case .damaged(let number, let error): outcome.damaged.append("\(number): \(error)")
            case .failed(let error): throw error
            }
        }
        return outcome
    }

    private final class Recorder: Sendable {
        private let state = Mutex<[DecoderOutput]>([])

        var outputs: [DecoderOutput] { state.withLock { $0 } }

        func add(_ output: DecoderOutput) { state.withLock { $0.append(output) } }
    }

    /// Returns whether two pictures have the same samples, in whatever planes.
    static func isEqual(_ left: PixelBuffer, _ right: PixelBuffer) throws -> Bool {
        guard left.format.bitDepth == right.format.bitDepth, left.width == right.width, left.height == right.height
        else { return false }
        return try left.packedInterleaved() == right.packedInterleaved()
    }
}

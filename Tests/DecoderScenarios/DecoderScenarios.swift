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
///     DecoderScenarios CODEC [prompt] FILE...
///
/// If it is to be prompt, each picture has to come before the next sample.
@main enum DecoderScenarios {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let codec = arguments.first.flatMap(VideoCodec.init), arguments.count > 1 else {
            print("arguments: CODEC [prompt] FILE...")
            exit(2)
        }
        do {
            let isPrompt = arguments.dropFirst().first == "prompt"
            try compare(codec, Array(arguments.dropFirst(isPrompt ? 2 : 1)), isPrompt: isPrompt)
            print("done")
        } catch {
            print("error \((error as? MediaError).map { "\($0.code): \($0)" } ?? "\(error)")")
            exit(1)
        }
    }

    private static func compare(_ codec: VideoCodec, _ files: [String], isPrompt: Bool) throws {
        let streams = try files.map { try CodedStream(codec, bytes: [UInt8](Data(contentsOf: URL(filePath: $0)))) }
        let samples = streams.flatMap(\.samples)
        let start = ContinuousClock.now
        let factory = VAAPIDecoderFactory(device: "/dev/dri/renderD128", codec: codec)
        let device = try decode(samples, factory, isPrompt: isPrompt)
        let duration = ContinuousClock.now - start
        let processor = try decode(samples, SoftwareDecoderFactory(codec: codec))
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
        isPrompt: Bool = false
    ) throws -> Outcome {
        let recorder = Recorder()
        let decoder = try factory.makeDecoder(
            DecoderRequest(formatDescription: samples[0].formatDescription, isLowLatency: isPrompt) {
                recorder.add($0)
            }
        )
        for (index, sample) in samples.enumerated() {
            try decoder.decode(DecoderSample(number: Int64(index), sample: sample))
            if isPrompt, recorder.outputs.count != index + 1 {
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
    private static func isEqual(_ left: PixelBuffer, _ right: PixelBuffer) throws -> Bool {
        guard left.format.bitDepth == right.format.bitDepth, left.width == right.width, left.height == right.height
        else { return false }
        return try bytes(left) == bytes(right)
    }

    /// Returns the samples in the layout of NV12 or P010.
    private static func bytes(_ buffer: PixelBuffer) throws -> [UInt8] {
        var description = buffer.pictureDescription
        description.format = buffer.format.bitDepth == 8 ? .nv12 : .p010
        let copy = try PixelBuffer(description)
        func components(_ buffer: PixelBuffer, _ planes: [PixelPlane]) -> PictureComponents {
            PictureComponents(buffer.format.arrangement, width: buffer.width, height: buffer.height, planes: planes)
        }
        try buffer.withPlanes { (source) throws(MediaError) in
            try copy.withPlanes { target in components(buffer, source).write(to: components(copy, target)) }
        }
        var bytes: [UInt8] = []
        try copy.withPlanes { planes in
            for (plane, extent) in zip(planes, copy.planeExtents) {
                for row in 0..<extent.rows {
                    let start = UnsafeRawPointer(plane.baseAddress) + row * plane.bytesPerRow
                    bytes += UnsafeRawBufferPointer(start: start, count: extent.bytesPerRow)
                }
            }
        }
        return bytes
    }
}

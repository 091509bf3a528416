// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import SoftwareEncoder
import Synchronization

/// An encoder together with what it has put out.
final class Recording {
    let encoder: any EncoderBackend
    private let sink: Sink
    private var nextNumber: Int64 = 0

    private final class Sink: Sendable {
        let outputs = Mutex<[EncoderOutput]>([])
    }

    init(
        _ configuration: EncoderConfiguration,
        maximumReorderDepth: Int? = nil,
        factory: any EncoderFactory = X264EncoderFactory()
    ) throws {
        let sink = Sink()
        self.sink = sink
        encoder = try factory.makeEncoder(
            EncoderRequest(configuration: configuration, maximumReorderDepth: maximumReorderDepth) { output in
                sink.outputs.withLock { $0.append(output) }
            }
        )
    }

    /// Encodes a whole clip at a constant rate and drains.
    convenience init(
        _ configuration: EncoderConfiguration,
        _ clip: TestClip,
        format: PixelFormat = .i420,
        padding: Int = 0,
        options: [Int: FrameOptions] = [:],
        factory: any EncoderFactory = X264EncoderFactory()
    ) throws {
        var configuration = configuration
        configuration.width = clip.width
        configuration.height = clip.height
        configuration.frameRate = clip.frameRate
        try self.init(configuration, factory: factory)
        for index in clip.frames.indices {
            let buffer = try clip.buffer(index, format: format, padding: padding)
            try encode(buffer, options: options[index] ?? .init())
        }
        try encoder.drain()
    }

    func encode(_ buffer: PixelBuffer, at time: MediaTime? = nil, options: FrameOptions = .init()) throws {
        let frame = EncoderFrame(
            number: nextNumber,
            buffer: buffer,
            presentationTime: time ?? MediaTime(value: nextNumber, timescale: 30),
            options: options
        )
        nextNumber += 1
        try encoder.encode(frame)
    }

    /// What came out, in decoding order.
    var frames: [CodedFrame] {
        sink.outputs.withLock { outputs in
            outputs.compactMap { output in
                guard case .coded(let frame) = output else { return nil }
                return frame
            }
        }
    }

    var properties: EncoderProperties { encoder.properties }

    /// The parameter sets of the encoder and all units that came out, without start codes or lengths.
    var units: [[UInt8]] { frames.flatMap(\.units) }

    /// A stream for a decoder: parameter sets before every key frame, start codes before everything.
    var annexB: Data {
        var data = Data()
        var sets = properties.formatDescription.parameterSets
        for frame in frames {
            sets = frame.formatDescription?.parameterSets ?? sets
            for unit in (frame.isKeyFrame ? sets : []) + frame.units {
                data.append(contentsOf: [0, 0, 0, 1])
                data.append(contentsOf: unit)
            }
        }
        return data
    }

    /// `SliceQPY` of each slice, H.264 7-30 and HEVC 7-54, as ffmpeg's reader of headers sees it.
    func sliceQuantizers() throws -> [Int] {
        let scratch = try Scratch()
        let codec = properties.formatDescription.codec
        let input = try scratch.write(annexB, to: "input.\(codec.rawValue)")
        let trace = try scratch.run(["ffmpeg", "-i", input, "-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-"])
        var base = 0
        var quantizers: [Int] = []
        for line in trace.split(separator: "\n") {
            guard let value = line.split(separator: " ").last.flatMap({ Int($0) }) else { continue }
            if line.contains(" pic_init_qp_minus26 ") || line.contains(" init_qp_minus26 ") { base = 26 + value }
            if line.contains(" slice_qp_delta ") { quantizers.append(base + value) }
        }
        return quantizers
    }
}

extension CodedFrame {
    /// The NAL units, by walking along the lengths; what does not add up ends the walk.
    var units: [[UInt8]] {
        data.withUnsafeBytes { bytes in
            var units: [[UInt8]] = []
            var offset = 0
            while offset + 4 <= bytes.count {
                let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
                guard offset + 4 + length <= bytes.count else { break }
                units.append(Array(bytes[offset + 4..<offset + 4 + length]))
                offset += 4 + length
            }
            return units
        }
    }
}

/// The units of an Annex B stream, by plain search for start codes.
func annexBUnits(_ stream: [UInt8]) -> [[UInt8]] {
    var starts: [Int] = []
    var index = 0
    while index + 3 <= stream.count {
        if stream[index] == 0, stream[index + 1] == 0, stream[index + 2] == 1 {
            starts.append(index + 3)
            index += 3
        } else {
            index += 1
        }
    }
    return starts.indices.map { position in
        var end = position + 1 < starts.count ? starts[position + 1] - 3 : stream.count
        while end > starts[position], stream[end - 1] == 0 { end -= 1 }
        return Array(stream[starts[position]..<end])
    }
}

func unitType(_ unit: [UInt8]) -> UInt8 { (unit.first ?? 0) & 31 }

/// The type of an HEVC unit.
func hevcUnitType(_ unit: [UInt8]) -> UInt8 { (unit.first ?? 0) >> 1 & 63 }

/// The settings that x264 and x265 write into an SEI message, by name.
func seiOptions(_ units: [[UInt8]]) -> [String: String] {
    for unit in units where unitType(unit) == 6 || hevcUnitType(unit) == 39 {
        let text = String(decoding: unit.filter { $0 != 0 }, as: UTF8.self)
        guard let range = text.range(of: "options: ") else { continue }
        let words = text[range.upperBound...].prefix { $0.isASCII && $0 >= " " }.split(separator: " ")
        return Dictionary(
            words.map { word in
                let parts = word.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
            },
            uniquingKeysWith: { first, _ in first }
        )
    }
    return [:]
}

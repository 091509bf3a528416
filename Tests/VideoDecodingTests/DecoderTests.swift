// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing
import VideoDecoding

@Suite struct DecoderTests {
    /// With frame threads, with slice threads, and with one thread.
    @Test(arguments: StreamCase.all) func picturesAreThoseOfFFmpeg(stream: StreamCase) throws {
        let coded = try stream.make()
        let format = coded.samples[0].formatDescription
        let size = try byteCount(stream.format, format.width, format.height)
        let expected = try coded.pictures(stream.comparedFormat, byteCount: size)
        let order = try coded.presentationOrder().map(Int64.init)
        try #require(expected.count == coded.samples.count && order.count == expected.count)
        for (isLowLatency, threads) in [(false, 4), (true, 2), (false, 1)] {
            let recording = try Recording.decode(coded, isLowLatency: isLowLatency, threads: threads)
            #expect(recording.damaged.isEmpty, "\(recording.damaged)")
            #expect(recording.numbers == order)
            #expect(recording.pictures.allSatisfy { $0.buffer.format == stream.format && !$0.isDamaged })
            let equal = try zip(recording.pictures, expected).map { try $0.buffer.packed() == $1 }
            #expect(!equal.contains(false), "\(equal)")
        }
    }

    private func byteCount(_ format: PixelFormat, _ width: Int, _ height: Int) throws -> Int {
        try (0..<format.planeCount).reduce(0) { sum, plane in
            let extent = try #require(format.planeExtent(plane, width: width, height: height))
            return sum + extent.bytesPerRow * extent.rows
        }
    }

    @Test(arguments: [VideoCodec.h264, .hevc]) func drainedDecoderContinues(codec: VideoCodec) throws {
        let stream = try CodedStream(codec, codec == .h264 ? StreamCase.pyramid : StreamCase.x265 + ":open-gop=0")
        let size = try byteCount(.i420, 192, 112)
        let expected = try stream.pictures("yuv420p", byteCount: size)
        let keyFrame = try #require(stream.samples.indices.dropFirst().first { stream.samples[$0].isKeyFrame })
        let recording = Recording()
        let decoder = try recording.decoder(stream, threads: 3)
        try decoder.drain()
        try decoder.decode(Array(stream.samples[..<keyFrame]))
        try decoder.drain()
        #expect(recording.pictures.count == keyFrame)
        try decoder.decode(Array(stream.samples[keyFrame...]), from: 1000)
        try decoder.drain()
        try decoder.drain()
        #expect(recording.pictures.count == stream.samples.count)
        #expect(recording.numbers.filter { $0 >= 1000 }.sorted() == (1000..<1000 + 30 - Int64(keyFrame)).map { $0 })
        #expect(try zip(recording.pictures, expected).allSatisfy { try $0.buffer.packed() == $1 })
        #expect(recording.damaged.isEmpty)
    }

    /// With low latency, a picture comes with its sample if nothing is reordered, and otherwise as soon as the reorder
    /// depth allows it.
    @Test(arguments: [0, 2]) func lowLatencyHoldsNothingBack(depth: Int) throws {
        let options = "-x264-params bframes=\(depth == 0 ? 0 : 3):b-adapt=0:b-pyramid=normal:slices=2"
        let stream = try CodedStream(.h264, options)
        let recording = Recording()
        let decoder = try recording.decoder(stream, isLowLatency: true, threads: 2)
        for (index, sample) in stream.samples.enumerated() {
            try decoder.decode(DecoderSample(number: Int64(index), sample: sample))
            #expect(recording.pictures.count == max(index + 1 - depth, 0))
        }
    }

    /// The pictures before a clean random access picture refer to pictures that are not there, and are skipped.
    @Test func decodingStartsAtACleanRandomAccessPicture() throws {
        let stream = try CodedStream(.hevc, StreamCase.x265 + ":open-gop=1")
        let start = try #require(stream.samples.indices.first { stream.samples[$0].isRecoveryPoint })
        let recording = Recording()
        let decoder = try recording.decoder(stream)
        try decoder.decode(Array(stream.samples[start...]), from: Int64(start))
        try decoder.drain()
        let order = try stream.presentationOrder().map(Int64.init)
        let shown = order.drop { $0 != Int64(start) }
        #expect(recording.numbers == Array(shown))
        #expect(recording.damaged.isEmpty && recording.pictures.allSatisfy { !$0.isDamaged })
    }

    @Test func picturesHaveTheirPropertiesAndCopiesAreCounted() throws {
        let color = "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited:chromaloc=2"
        let display = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
        let options = "-pix_fmt yuv420p10le -x265-params log-level=none:\(color):\(display):max-cll=1000,400:sar=3"
        let stream = try CodedStream(.hevc, frames: 3, options)
        let recording = Recording()
        let decoder = try recording.decoder(stream)
        try decoder.decode(stream.samples)
        try decoder.drain()
        #expect(decoder.copiedPictures == 3)
        let buffer = try #require(recording.pictures.first).buffer
        #expect(buffer.color.primaries == .bt2020 && buffer.color.transfer == .pq && buffer.color.matrix == .bt2020)
        #expect(buffer.color.range == .limited && buffer.color.chromaLocation?.rawValue == 2)
        #expect(buffer.pixelAspectRatio == Rational(10, 11))
        #expect(buffer.attachments.masteringDisplay?.red == .init(x: 34000, y: 16000))
        #expect(buffer.attachments.contentLight?.maximumContentLightLevel == 1000)
    }

    @Test func picturesInTheDecodersMemoryOutliveIt() throws {
        let recording = Recording()
        let stream = try CodedStream(.h264, frames: 3, StreamCase.pyramid)
        do {
            let decoder = try recording.decoder(stream)
            try decoder.decode(stream.samples)
            try decoder.drain()
            #expect(decoder.copiedPictures == 0)
            #expect(decoder.properties.name.hasPrefix("libavcodec "))
        }
        let expected = try stream.pictures("yuv420p", byteCount: try byteCount(.i420, 192, 112))
        #expect(try recording.pictures.map { try $0.buffer.packed() } == expected)
    }

    @Test func unsupportedPixelFormatIsNamed() throws {
        let stream = try CodedStream(.hevc, frames: 2, "-pix_fmt gbrp10le -x265-params log-level=none")
        let decoder = try Recording().decoder(stream)
        let error = #expect(throws: MediaError.self) {
            try decoder.decode(stream.samples)
            try decoder.drain()
        }
        #expect(error?.code == .unsupported && error?.given == "gbrp10le")
    }

    @Test func otherCodecAndBadParameterSetsAreRefused() throws {
        let stream = try CodedStream(.h264, frames: 1, "")
        let format = stream.samples[0].formatDescription
        let other = #expect(throws: MediaError.self) {
            try SoftwareDecoderFactory(codec: .hevc).makeDecoder(DecoderRequest(formatDescription: format) { _ in })
        }
        #expect(other?.code == .invalidArgument)
        let empty = FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])
        let missing = #expect(throws: MediaError.self) {
            try SoftwareDecoderFactory(codec: .h264).makeDecoder(DecoderRequest(formatDescription: empty) { _ in })
        }
        #expect(missing?.code == .malformedData)
    }
}

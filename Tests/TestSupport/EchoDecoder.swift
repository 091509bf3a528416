// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
package import MediaTypes

/// A picture whose sample says what it looks like, so that what comes out of a decoder is known bit for bit.
package struct EchoPicture: Hashable, Sendable {
    package var format: PixelFormat
    package var width: Int
    package var height: Int
    /// What its samples are made of.
    package var seed: UInt64
    /// Whether the decoder says that it has concealed damage in it.
    package var isDamaged = false
    /// Whether the decoder reports that the data is damaged.
    package var reportsDamage = false
    /// Whether there is a picture at all.
    package var isShown = true
    package var captions: [UInt8] = []
    /// Bytes that mean nothing, behind the others.
    package var padding = 0

    package init(_ format: PixelFormat = .nv12, width: Int = 32, height: Int = 16, seed: UInt64) {
        self.format = format
        self.width = width
        self.height = height
        self.seed = seed
    }

    /// The data of its sample.
    package var data: CodedData {
        let flags = [isDamaged, reportsDamage, isShown].map { $0 ? "1" : "0" }.joined()
        let text =
            "\(format.rawValue) \(width) \(height) \(seed) \(flags) \(captions.map { "\($0)" }.joined(separator: ","))"
        return CodedData(Array("\(text)\n".utf8) + Array(repeating: 0, count: padding))
    }

    /// - Returns: `nil` if that is not the data of such a sample.
    package init?(_ data: CodedData) {
        let line = data.withUnsafeBytes { $0.prefix { $0 != UInt8(ascii: "\n") }.map { $0 } }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, let format = PixelFormat(rawValue: String(words[0])), let width = Int(words[1]),
            let height = Int(words[2]), let seed = UInt64(words[3]), words[4].count == 3
        else { return nil }
        self.init(format, width: width, height: height, seed: seed)
        let flags = words[4].map { $0 == "1" }
        (isDamaged, reportsDamage, isShown) = (flags[0], flags[1], flags[2])
        captions = words[5].split(separator: ",").compactMap { UInt8($0) }
    }

    package var description: PixelBuffer.Description {
        PixelBuffer.Description(
            format: format,
            width: width,
            height: height,
            color: seed % 2 == 0 ? .bt709 : .unspecified,
            pixelAspectRatio: Rational(Int32(seed % 5 + 1), 3),
            attachments: PixelAttachments(captions: captions)
        )
    }

    /// The picture in memory of its own.
    package func buffer() throws(MediaError) -> PixelBuffer {
        let buffer = try PixelBuffer(description)
        try buffer.withPlanes { planes in
            visit(planes) { (row, bytes) in row.copyMemory(from: bytes, byteCount: bytes.count) }
        }
        return buffer
    }

    /// Whether that is the picture, in every bit and every property.
    package func isEqual(to buffer: PixelBuffer) throws(MediaError) -> Bool {
        guard buffer.pictureDescription == description else { return false }
        var isEqual = true
        try buffer.withPlanes { planes in
            visit(planes) { (row, bytes) in
                let row = UnsafeRawBufferPointer(start: row, count: bytes.count)
                if !row.elementsEqual(bytes) { isEqual = false }
            }
        }
        return isEqual
    }

    /// Calls `body` with the start of each row and what belongs there.
    private func visit(_ planes: [PixelPlane], _ body: (UnsafeMutableRawPointer, [UInt8]) -> Void) {
        var random = SplitMix(seed)
        for (index, plane) in planes.enumerated() {
            guard let extent = format.planeExtent(index, width: width, height: height) else { continue }
            for row in 0..<extent.rows {
                var bytes: [UInt8] = []
                while bytes.count < extent.bytesPerRow {
                    withUnsafeBytes(of: random.next()) { bytes += $0.prefix(extent.bytesPerRow - bytes.count) }
                }
                body(plane.baseAddress + row * plane.bytesPerRow, bytes)
            }
        }
    }

    /// Its sample.
    package func sample(_ number: Int64, presentation: Int64? = nil) -> DecoderSample {
        DecoderSample(
            number: number,
            sample: SampleBuffer(
                data: data,
                presentationTime: MediaTime(value: presentation ?? number, timescale: 30),
                decodeTime: MediaTime(value: number, timescale: 30),
                duration: .invalid,
                isKeyFrame: number == 0,
                formatDescription: formatDescription
            )
        )
    }

    package var formatDescription: FormatDescription {
        FormatDescription(codec: .h264, width: width, height: height, parameterSets: [[0x67, UInt8(width & 0xFF)]])
    }
}

/// A decoder whose samples are ``EchoPicture``s.
package final class EchoDecoder: DecoderBackend {
    /// Makes such decoders.
    package struct Factory: DecoderFactory {
        package var identity: DecoderIdentity
        /// How many pictures are held back, so that pictures leave in presentation order.
        package var depth: Int
        /// Whether pictures come on another thread, for which no call but `drain` waits.
        package var usesThread: Bool

        package init(_ name: String, depth: Int = 0, usesThread: Bool = false) {
            identity = DecoderIdentity(name: name, codec: .h264)
            self.depth = depth
            self.usesThread = usesThread
        }

        package func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
            EchoDecoder(self, request)
        }
    }

    package let properties = DecoderProperties(name: "echo", threadCount: 1)
    private let factory: Factory
    private let request: DecoderRequest
    private let queue = DispatchQueue(label: "echo")
    private var held: [(sample: DecoderSample, picture: EchoPicture)] = []

    package init(_ factory: Factory, _ request: DecoderRequest) {
        self.factory = factory
        self.request = request
    }

    package func decode(_ sample: DecoderSample) throws(MediaError) {
        guard let picture = EchoPicture(sample.sample.data) else {
            throw MediaError(.malformedData, "this is no sample of an echo decoder")
        }
        guard sample.sample.formatDescription == picture.formatDescription else {
            throw MediaError(.malformedData, "a sample has another format", given: "sample \(sample.number)")
        }
        held.append((sample, picture))
        held.sort { $0.sample.sample.presentationTime < $1.sample.sample.presentationTime }
        while held.count > factory.depth { try putOut(held.removeFirst()) }
    }

    package func drain() throws(MediaError) {
        while !held.isEmpty { try putOut(held.removeFirst()) }
        queue.sync {}
    }

    private func putOut(_ next: (sample: DecoderSample, picture: EchoPicture)) throws(MediaError) {
        let (number, picture, output) = (next.sample.number, next.picture, request.output)
        if picture.reportsDamage { output(.damaged(number: number, MediaError(.malformedData, "as the sample says"))) }
        guard picture.isShown else { return }
        let decoded = DecodedPicture(number: number, buffer: try picture.buffer(), isDamaged: picture.isDamaged)
        if factory.usesThread {
            queue.async { output(.picture(decoded)) }
        } else {
            output(.picture(decoded))
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
package import MediaTypes

/// The samples of a test encode, and the check whether they match the request.
package struct TestStream {
    /// The samples in decoding order.
    package private(set) var samples: [SampleBuffer] = []
    /// The expected properties of the stream.
    package var expectation = TestEncode.Expectation()
    private let codec: VideoCodec
    private let width: Int
    private let height: Int
    private let frameCount: Int

    /// Creates a stream with a number of frames of a given size.
    package init(_ codec: VideoCodec, width: Int, height: Int, frameCount: Int) {
        self.codec = codec
        self.width = width
        self.height = height
        self.frameCount = frameCount
    }

    /// Adds a frame that the encoder returned.
    package mutating func add(_ frame: CodedFrame, _ format: FormatDescription) {
        let time = MediaTime(value: frame.number, timescale: 30)
        samples.append(
            SampleBuffer(
                data: frame.data,
                presentationTime: time,
                decodeTime: time,
                duration: .invalid,
                isKeyFrame: frame.isKeyFrame,
                isReference: frame.isReference,
                isDropped: frame.isDropped,
                formatDescription: format,
                formatDescriptionChanged: samples.last.map { $0.formatDescription != format } ?? true
            )
        )
    }

    /// Returns the first stage that the samples fail; `nil` if they pass all stages.
    ///
    /// - Parameter verifier: Decodes the samples; without a verifier, the last stage is not checked.
    package func failure(_ verifier: (any SampleVerifier)?) -> (stage: TestEncode.Stage, error: MediaError)? {
        if let reason = emptiness { return (.bytes, MediaError(.frameFailed, reason)) }
        do throws(MediaError) { try parse() } catch { return (.parses, error) }
        guard let verifier else { return nil }
        do throws(MediaError) { try decode(verifier) } catch { return (.decodes, error) }
        return nil
    }

    // MARK: - Bytes

    private var emptiness: String? {
        let empty = samples.count { $0.isDropped || $0.data.count == 0 }
        if empty > 0 { return "\(Self.pictures(empty)) of \(samples.count) are empty" }
        let missing = frameCount - samples.count
        return missing > 0 ? "\(Self.pictures(missing)) missing" : nil
    }

    private static func pictures(_ count: Int) -> String { "\(count) picture\(count == 1 ? "" : "s")" }

    // MARK: - Syntax

    private func parse() throws(MediaError) {
        var hasB = false
        for (index, sample) in samples.enumerated() {
            let slices: [Slice]
            do {
                slices = try codec == .h264 ? Self.h264Slices(sample) : Self.hevcSlices(sample)
            } catch let error as MediaError {
                throw error
            } catch {
                throw MediaError(.malformedData, "sample \(index): \(error)")
            }
            if let expected = expectation.slices, slices.count != expected {
                throw MediaError(
                    .malformedData,
                    "sample \(index) has a wrong number of slices",
                    given: "\(slices.count)",
                    allowed: "\(expected)"
                )
            }
            hasB = hasB || slices.contains(where: \.isOfBFrame)
        }
        guard samples.first?.isKeyFrame == true else {
            throw MediaError(.malformedData, "the stream does not begin with a key frame")
        }
        if let expected = expectation.hasBFrames, hasB != expected {
            throw MediaError(.malformedData, hasB ? "there are B-frames" : "there are no B-frames")
        }
    }

    /// The checked properties of a slice whose header can be parsed completely.
    private struct Slice {
        /// Whether it refers to pictures that are shown later, as slices of B-frames do. The slice type is not
        /// sufficient: drivers without P slices encode P-frames with B slices.
        var isOfBFrame: Bool
    }

    private static func h264Slices(_ sample: SampleBuffer) throws -> [Slice] {
        var sps: H264SequenceParameterSet?
        var pps: H264PictureParameterSet?
        for set in sample.formatDescription.parameterSets {
            switch try H264NALUnitHeader(nalUnit: set).nalUnitType {
            case .sequenceParameterSet: sps = try H264SequenceParameterSet(nalUnit: set)
            case .pictureParameterSet: pps = try H264PictureParameterSet(nalUnit: set)
            default: break
            }
        }
        guard let sps, let pps else { throw MediaError(.malformedData, "there are no parameter sets") }
        let units = try sample.accessUnitLayout().units
        return try sample.data.withUnsafeBytes { bytes in
            try units.compactMap { unit in
                let type = try H264NALUnitHeader(nalUnit: bytes[unit]).nalUnitType
                guard type == .slice || type == .idrSlice else { return nil }
                let header = try H264SliceHeader(nalUnit: bytes[unit], sps: sps, pps: pps)
                return Slice(isOfBFrame: header.start.kind == .b)
            }
        }
    }

    private static func hevcSlices(_ sample: SampleBuffer) throws -> [Slice] {
        var sps: HEVCSequenceParameterSet?
        var pps: HEVCPictureParameterSet?
        for set in sample.formatDescription.parameterSets {
            switch try HEVCNALUnitHeader(nalUnit: set).nalUnitType {
            case .sequenceParameterSet: sps = try HEVCSequenceParameterSet(nalUnit: set)
            case .pictureParameterSet: pps = try HEVCPictureParameterSet(nalUnit: set)
            default: break
            }
        }
        guard let sps, let pps else { throw MediaError(.malformedData, "there are no parameter sets") }
        let units = try sample.accessUnitLayout().units
        return try sample.data.withUnsafeBytes { bytes in
            try units.compactMap { unit in
                guard try HEVCNALUnitHeader(nalUnit: bytes[unit]).isVideoCodingLayer else { return nil }
                let header = try HEVCSliceSegmentHeader(nalUnit: bytes[unit], sps: sps, pps: pps)
                let references = header.slice?.references?.shortTermReferences(sps) ?? []
                let isB = header.slice?.sliceType == .b
                return Slice(isOfBFrame: isB && references.contains { $0.isUsed && $0.deltaPoc > 0 })
            }
        }
    }

    // MARK: - Pictures

    private func decode(_ verifier: any SampleVerifier) throws(MediaError) {
        var count = 0
        try verifier.decode(samples, codec: codec) { (picture, time) throws(MediaError) in
            try check(picture, time, count)
            count += 1
        }
        guard count == samples.count else {
            throw MediaError(
                .malformedData,
                "the number of decoded pictures is wrong",
                given: "\(count)",
                allowed: "\(samples.count)"
            )
        }
    }

    private func check(_ picture: PixelBuffer, _ time: MediaTime, _ number: Int) throws(MediaError) {
        guard (picture.width, picture.height) == (width, height) else {
            throw MediaError(
                .malformedData,
                "the size of the decoded pictures is wrong",
                given: "\(picture.width)x\(picture.height)",
                allowed: "\(width)x\(height)"
            )
        }
        guard time.value == Int64(number) else {
            throw MediaError(.malformedData, "the decoded pictures are out of order")
        }
        let deviation = try TestPattern.deviation(of: picture, from: number)
        guard deviation <= TestPattern.tolerance else {
            throw MediaError(
                .malformedData,
                "picture \(number) does not decode to the source picture",
                given: "a mean difference of \(Int(deviation)) of 255",
                allowed: "at most \(Int(TestPattern.tolerance))"
            )
        }
    }
}

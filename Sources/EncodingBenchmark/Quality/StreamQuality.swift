// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
package import MediaTypes
internal import PixelConversion

/// Decodes a stream and compares its pictures with the source pictures.
package struct StreamQuality: Sendable {
    private let clip: PreparedClip
    private let codedFrames: [Bool]
    private let program: QualityProgram.Search

    /// - Parameters:
    ///   - clip: The clip.
    ///   - codedFrames: Which of its frames must be in the stream: all except those that were dropped on purpose.
    ///   - program: An ffmpeg program for VMAF and XPSNR, or the reason why there is none.
    package init(clip: PreparedClip, codedFrames: [Bool], program: QualityProgram.Search) {
        self.clip = clip
        self.codedFrames = codedFrames
        self.program = program
    }

    /// Compares a whole stream.
    ///
    /// Pictures are paired by presentation time. Decoders crop the padding that encoders add to fill blocks, so the
    /// sizes must be equal. The colour descriptions must also be equal; otherwise, the figures would measure a
    /// conversion rather than an encoder.
    /// - Parameter path: A file that was encoded from the clip.
    /// - Throws: `malformedData` if the stream is damaged, if frames are missing or in excess, or if a picture differs
    ///   from the clip in size, bit depth or colour, with both values; any error of opening the file.
    package func measure(_ path: String) throws(MediaError) -> BenchmarkReport.Quality {
        let references = try ReferencePictures(clip)
        let comparator = PictureComparator()
        var totals = QualityTotals(bitDepth: clip.bitDepth)
        var external = ExternalQuality(program, clip.measuredPictures)
        let source = try MediaSource(path: path, options: MediaSource.Options(deinterlacing: .off))
        var pairing = FramePairing(rate: clip.frameRate.value, codedFrames: codedFrames)
        while let event = try source.next() {
            guard case .frame(let frame) = event else { continue }
            let number = try pairing.number(ofFrameAt: frame.presentationTime)
            try check(frame.buffer, number)
            let reference = try references.picture(number)
            totals.add(try comparator.difference(of: frame.buffer, from: reference))
            external.add(frame.buffer, reference: reference)
        }
        if source.problems.isLossy {
            let words = source.problems.descriptions.joined(separator: "; ")
            throw MediaError(.malformedData, "the stream is damaged: \(words)", given: path)
        }
        try pairing.checkEnd()
        let (vmaf, xpsnr) = external.finish()
        return BenchmarkReport.Quality(
            frames: totals.frames,
            psnr: totals.psnr,
            ssim: totals.ssim,
            vmaf: vmaf,
            xpsnr: xpsnr
        )
    }

    private func check(_ picture: PixelBuffer, _ number: Int) throws(MediaError) {
        let shape = "\(picture.width)x\(picture.height) with \(picture.format.bitDepth) bits"
        let expected = "\(clip.size.text) with \(clip.bitDepth) bits"
        guard shape == expected else {
            throw MediaError(
                .malformedData,
                "decoded frame \(number) differs from the source in size or depth",
                given: shape,
                allowed: expected
            )
        }
        guard !picture.color.meansTheSame(as: clip.color.description) else { return }
        throw MediaError(
            .malformedData,
            "decoded frame \(number) differs from the source in colour description",
            given: picture.color.codes,
            allowed: clip.color.description.codes
        )
    }
}

/// Finds the source frame of a decoded frame.
struct FramePairing {
    private let rate: Rational
    private let codedFrames: [Bool]
    private var next = 0
    private var count = 0
    private var firstMissing: Int?

    /// - Parameters:
    ///   - rate: The frame rate of the source.
    ///   - codedFrames: Which of its frames must be in the stream.
    init(rate: Rational, codedFrames: [Bool]) {
        self.rate = rate
        self.codedFrames = codedFrames
    }

    /// The tolerance for times that containers round, at most to milliseconds.
    private static let tolerance = 0.001

    /// Returns the number of the frame at a presentation time. Frames must be requested in presentation order.
    ///
    /// - Throws: `malformedData` if the source has no frame at this time, if the frame was not coded, or if it was
    ///   requested before.
    mutating func number(ofFrameAt time: MediaTime) throws(MediaError) -> Int {
        let place = time.seconds * rate.doubleValue
        guard place.isFinite, abs(place - place.rounded()) / rate.doubleValue <= Self.tolerance else {
            throw MediaError(
                .malformedData,
                "the presentation time of a decoded frame does not match any source frame",
                given: "\(time.seconds) s",
                allowed: "multiples of \(rate.denominator)/\(rate.numerator) s"
            )
        }
        let number = Int(place.rounded())
        guard number >= next, codedFrames.indices.contains(number), codedFrames[number] else {
            let reason = number < next ? "twice or out of order" : "but was not encoded"
            throw MediaError(.malformedData, "frame \(number) was decoded \(reason)", given: "\(time.seconds) s")
        }
        firstMissing = firstMissing ?? codedFrames[next..<number].firstIndex(of: true)
        count += 1
        next = number + 1
        return number
    }

    /// - Throws: `malformedData` with both counts if frames are missing.
    func checkEnd() throws(MediaError) {
        guard let missing = firstMissing ?? codedFrames[next...].firstIndex(of: true) else { return }
        throw MediaError(
            .malformedData,
            "not all frames were decoded; the first missing one is \(missing)",
            given: "\(count) frames",
            allowed: "\(codedFrames.count { $0 })"
        )
    }
}

extension ColorDescription {
    /// Returns whether samples represent the same colours. An unspecified range is interpreted as limited, as decoders
    /// do.
    func meansTheSame(as other: ColorDescription) -> Bool {
        primaries == other.primaries && transfer == other.transfer && matrix == other.matrix
            && (range == .full) == (other.range == .full)
    }

    /// The H.273 code points and the range.
    fileprivate var codes: String {
        "primaries \(primaries.rawValue), transfer \(transfer.rawValue), matrix \(matrix.rawValue), \(range.rawValue) range"
    }
}

extension PreparedClip {
    fileprivate var measuredPictures: ExternalQuality.Pictures {
        .init(width: size.width, height: size.height, bitDepth: bitDepth, frameRate: frameRate.value)
    }
}

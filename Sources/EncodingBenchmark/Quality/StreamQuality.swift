// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
package import MediaTypes
internal import PixelConversion

/// Decodes a stream and compares its pictures with those that were encoded.
package struct StreamQuality: Sendable {
    private let clip: PreparedClip
    private let codedFrames: [Bool]
    private let program: QualityProgram.Search

    /// - Parameters:
    ///   - clip: What was encoded.
    ///   - codedFrames: Which frames of it must be in the stream: all but those that were dropped on purpose.
    ///   - program: An ffmpeg for VMAF and XPSNR, or why there is none.
    package init(clip: PreparedClip, codedFrames: [Bool], program: QualityProgram.Search) {
        self.clip = clip
        self.codedFrames = codedFrames
        self.program = program
    }

    /// Compares a whole stream.
    ///
    /// Pictures are paired by the time at which they are shown. Decoders crop what encoders have added to fill blocks; so sizes
    /// must be equal then, and they must say the same about colour, else the figures would be of a conversion and not of
    /// an encoder.
    /// - Parameter path: A file that was made of the clip.
    /// - Throws: `malformedData` if the stream is damaged, if frames are missing or too many, or a picture is of another size,
    ///   depth or colour than the clip, naming both; what opening it throws.
    package func measure(_ path: String) throws(MediaError) -> BenchmarkReport.Quality {
        let references = try ReferencePictures(clip)
        let comparator = PictureComparator()
        var totals = QualityTotals(bitDepth: clip.bitDepth)
        var external = ExternalQuality(program, clip: clip)
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

/// Finds the frame of the source that a decoded one belongs to.
struct FramePairing {
    private let rate: Rational
    private let codedFrames: [Bool]
    private var next = 0
    private var count = 0
    private var firstMissing: Int?

    /// - Parameters:
    ///   - rate: Frames of the source per second.
    ///   - codedFrames: Which of them must come.
    init(rate: Rational, codedFrames: [Bool]) {
        self.rate = rate
        self.codedFrames = codedFrames
    }

    /// Containers round times, the coarsest to milliseconds.
    private static let tolerance = 0.001

    /// The number of the frame that is shown at a time. Frames are to be asked for in the order in which they are shown.
    ///
    /// - Throws: `malformedData` if no frame of the source is shown then, it was not coded, or it was asked for before.
    mutating func number(ofFrameAt time: MediaTime) throws(MediaError) -> Int {
        let place = time.seconds * rate.doubleValue
        guard place.isFinite, abs(place - place.rounded()) / rate.doubleValue <= Self.tolerance else {
            throw MediaError(
                .malformedData,
                "a decoded frame has a presentation time that no source frame has",
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
    /// Whether samples stand for the same light. An unspecified range is taken for limited, as decoders do.
    func meansTheSame(as other: ColorDescription) -> Bool {
        primaries == other.primaries && transfer == other.transfer && matrix == other.matrix
            && (range == .full) == (other.range == .full)
    }

    /// The numbers of H.273, and the range.
    fileprivate var codes: String {
        "primaries \(primaries.rawValue), transfer \(transfer.rawValue), matrix \(matrix.rawValue), \(range.rawValue) range"
    }
}

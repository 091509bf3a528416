// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The settings that libraries have in common, for a configuration.
protocol SoftwareSettings {
    /// The name of the library for messages, for example `x264`.
    static var library: String { get }
    /// The validated configuration, with an even size.
    var configuration: EncoderConfiguration { get }
    /// The differences from the request.
    var adjustments: [Adjustment] { get set }
    /// The number of B-frames in a row, in the library's parameters.
    var bFrameCount: Int32 { get set }
    /// Whether B-frames may be references, in the library's parameters.
    var usesBPyramid: Bool { get set }
}

extension SoftwareSettings {
    mutating func adjust(_ property: String, from requested: String, to used: String, _ reason: String) {
        adjustments.append(Adjustment(property: property, requested: requested, used: used, reason: reason))
    }

    /// Returns a rate or size in thousands of bits, the unit of the libraries. It is rounded down, so that a limit is
    /// not exceeded and a peak is not below its average.
    mutating func kilobits(_ bits: Int, _ property: String, isReported: Bool = true) -> Int32 {
        let result = max(1, bits / 1000)
        if isReported, result * 1000 != bits {
            let reason = "\(Self.library) stores rates in units of 1000 bits"
            adjust(property, from: "\(bits) bit/s", to: "\(result * 1000) bit/s", reason)
        }
        return Int32(clamping: result)
    }

    var isZeroLatency: Bool { configuration.isLowLatency || configuration.software.tuning == .zerolatency }

    /// The maximum number of frames from a key frame to the next; `nil` for no limit.
    var keyFrameDistance: Int32? {
        let interval = configuration.keyFrameInterval
        let frames =
            configuration.isFrameRateVariable ? interval.frames : interval.frameCount(at: configuration.frameRate)
        return frames.map { Int32(clamping: $0) }
    }

    /// Limits the reorder depth: B-frames reorder by one frame, a pyramid of them by two.
    mutating func limitReordering(to depth: Int) {
        let reason = "the session reorders frames by at most \(depth)"
        if depth < 1, bFrameCount > 0 {
            adjust("b-frames", from: "\(bFrameCount)", to: "0", reason)
            bFrameCount = 0
        }
        if depth < 2, bFrameCount > 1, usesBPyramid {
            usesBPyramid = false
            adjust("b-pyramid", from: "on", to: "off", reason)
        }
    }

    mutating func reportWhatIsMissing() {
        if configuration.temporalLayers > 1 {
            adjust(
                "temporal layers",
                from: "\(configuration.temporalLayers)",
                to: "1",
                "\(Self.library) does not support them"
            )
        }
        if configuration.longTermReferences > 0 {
            let reason = "\(Self.library) does not support them"
            adjust("long-term references", from: "\(configuration.longTermReferences)", to: "0", reason)
        }
        if let size = configuration.maximumFrameSize {
            let reason = "\(Self.library) limits frames only by the peak bitrate and its buffer"
            adjust("maximum frame size", from: "\(size) bytes", to: "none", reason)
        }
    }

    func refuseMissingDepth(_ name: String, _ depths: [Int]) throws(MediaError) {
        guard !depths.contains(configuration.bitDepth) else { return }
        throw MediaError(
            .unsupported,
            "\(name) was not built for \(configuration.bitDepth) bits",
            given: "\(configuration.bitDepth)",
            allowed: depths.map(String.init).joined(separator: ", ")
        )
    }
}

// MARK: - Colour

/// The code points of H.273 that a library can write.
struct WrittenCodePoints {
    let primaries: ClosedRange<UInt8>
    let transfers: ClosedRange<UInt8>
    let matrices: ClosedRange<UInt8>
    /// The code points within the ranges that it cannot write.
    var excepted: Set<UInt8> = []

    fileprivate func written(_ color: ColorDescription) -> ColorDescription {
        var color = color
        if !takes(color.primaries.rawValue, primaries) { color.primaries = .unspecified }
        if !takes(color.transfer.rawValue, transfers) { color.transfer = .unspecified }
        if !takes(color.matrix.rawValue, matrices) { color.matrix = .unspecified }
        return color
    }

    private func takes(_ code: UInt8, _ range: ClosedRange<UInt8>) -> Bool {
        range.contains(code) && !excepted.contains(code)
    }
}

extension SoftwareSettings {
    /// Returns the colour description in the stream; `nil` if the configuration has none. Values that the library
    /// cannot write become unspecified, which is reported.
    ///
    /// - Throws: `invalidArgument` for values that are not possible for the video.
    mutating func writtenColor(_ known: WrittenCodePoints) throws(MediaError) -> ColorDescription? {
        guard let asked = configuration.color else { return nil }
        guard asked.matrix != .rgb else {
            throw MediaError(
                .invalidArgument,
                "\(configuration.chromaFormat.name) video cannot have an RGB matrix",
                given: "matrix 0",
                allowed: "1...\(known.matrices.upperBound)"
            )
        }
        if let location = asked.chromaLocation, location.rawValue > 5 {
            throw MediaError(
                .invalidArgument,
                "chroma location is out of range",
                given: "\(location.rawValue)",
                allowed: "0...5"
            )
        }
        let color = known.written(asked)
        reportColor("primaries", asked.primaries.rawValue, color.primaries.rawValue)
        reportColor("transfer", asked.transfer.rawValue, color.transfer.rawValue)
        reportColor("matrix", asked.matrix.rawValue, color.matrix.rawValue)
        return color
    }

    private mutating func reportColor(_ property: String, _ asked: UInt8, _ written: UInt8) {
        guard asked != written else { return }
        let reason = "\(Self.library) does not support the code point"
        adjust("colour \(property)", from: "\(asked)", to: "unspecified", reason)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The settings of a library for a configuration, as far as libraries have them in common.
protocol SoftwareSettings {
    /// The library as messages name it, for example `x264`.
    static var library: String { get }
    /// The validated configuration, with an even size.
    var configuration: EncoderConfiguration { get }
    /// What had to be changed on the way.
    var adjustments: [Adjustment] { get set }
    /// B-frames in a row, in the library's parameters.
    var bFrameCount: Int32 { get set }
    /// Whether B-frames may be references, in the library's parameters.
    var usesBPyramid: Bool { get set }
}

extension SoftwareSettings {
    mutating func adjust(_ property: String, from requested: String, to used: String, _ reason: String) {
        adjustments.append(Adjustment(property: property, requested: requested, used: used, reason: reason))
    }

    /// Libraries count in thousands of bits. Rounded down, so that a limit stays one and a peak stays above its average.
    mutating func kilobits(_ bits: Int, _ property: String, isReported: Bool = true) -> Int32 {
        let result = max(1, bits / 1000)
        if isReported, result * 1000 != bits {
            adjust(property, from: "\(bits) bit/s", to: "\(result * 1000) bit/s", "\(Self.library) counts in thousands")
        }
        return Int32(clamping: result)
    }

    var isZeroLatency: Bool { configuration.isLowLatency || configuration.software.tuning == .zerolatency }

    /// The most frames from a key frame to the next; `nil` for no limit.
    var keyFrameDistance: Int32? {
        let interval = configuration.keyFrameInterval
        let frames =
            configuration.isFrameRateVariable ? interval.frames : interval.frameCount(at: configuration.frameRate)
        return frames.map { Int32(clamping: $0) }
    }

    /// B-frames delay frames by one, a pyramid of them by two.
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

/// The code points of H.273 that a library writes.
struct WrittenCodePoints {
    let primaries: ClosedRange<UInt8>
    let transfers: ClosedRange<UInt8>
    let matrices: ClosedRange<UInt8>
    /// Those within the ranges that it does not write.
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
    /// The colour that the stream will tell; `nil` if the configuration has none. What the library does not write
    /// becomes unspecified, and is reported.
    ///
    /// - Throws: `invalidArgument` for what 4:2:0 video cannot have.
    mutating func writtenColor(_ known: WrittenCodePoints) throws(MediaError) -> ColorDescription? {
        guard let asked = configuration.color else { return nil }
        guard asked.matrix != .rgb else {
            throw MediaError(
                .invalidArgument,
                "4:2:0 video has no RGB matrix",
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
        let reason = "\(Self.library) does not know the code point"
        adjust("colour \(property)", from: "\(asked)", to: "unspecified", reason)
    }
}

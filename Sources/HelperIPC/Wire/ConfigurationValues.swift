// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

// The request for an encoder.

extension CodecSelection: WireValue {}
extension VideoProfile: WireValue {}
extension EntropyMode: WireValue {}
extension ScalingMode: WireValue {}
extension SoftwareEncoderOptions.Preset: WireValue {}
extension SoftwareEncoderOptions.Tuning: WireValue {}
extension SoftwareEncoderOptions.InstructionSet: WireValue {}
extension HardwareEncoderOptions.LowPower: WireValue {}

extension H264Level: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        let levelIDC = try reader.integer(UInt8.self)
        guard let level = H264Level(levelIDC: levelIDC) else {
            throw reader.error("H264Level", at: start, .noSuchValue(given: "\(levelIDC)"))
        }
        self = level
    }

    func write(to writer: inout WireWriter) { writer.integer(levelIDC) }
}

extension HEVCLevel: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        let (levelIDC, isHighTier) = (try reader.integer(UInt8.self), try Bool(from: &reader))
        guard let level = HEVCLevel(levelIDC: levelIDC, isHighTier: isHighTier) else {
            throw reader.error("HEVCLevel", at: start, .noSuchValue(given: "\(levelIDC), High tier \(isHighTier)"))
        }
        self = level
    }

    func write(to writer: inout WireWriter) {
        writer.integer(levelIDC)
        isHighTier.write(to: &writer)
    }
}

extension PeakBitRate: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: self = .automatic
        case 1: self = .unlimited
        case 2: self = .limit(try reader.integer(), window: try Double(from: &reader))
        case let other: throw reader.error("PeakBitRate", at: start, .noSuchValue(given: "case \(other)"))
        }
    }

    func write(to writer: inout WireWriter) {
        switch self {
        case .automatic: writer.integer(UInt8(0))
        case .unlimited: writer.integer(UInt8(1))
        case .limit(let rate, let window):
            writer.integer(UInt8(2))
            writer.integer(rate)
            window.write(to: &writer)
        }
    }
}

extension RateControl: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: self = .averageBitRate(try reader.integer(), peak: try PeakBitRate(from: &reader))
        case 1: self = .constantBitRate(try reader.integer(), window: try Double(from: &reader))
        case 2: self = .constantQuality(try Double(from: &reader), peak: try PeakBitRate(from: &reader))
        case 3: self = .constantQuantizer(try reader.integer())
        case let other: throw reader.error("RateControl", at: start, .noSuchValue(given: "case \(other)"))
        }
    }

    func write(to writer: inout WireWriter) {
        switch self {
        case .averageBitRate(let rate, let peak):
            writer.integer(UInt8(0))
            writer.integer(rate)
            peak.write(to: &writer)
        case .constantBitRate(let rate, let window):
            writer.integer(UInt8(1))
            writer.integer(rate)
            window.write(to: &writer)
        case .constantQuality(let quality, let peak):
            writer.integer(UInt8(2))
            quality.write(to: &writer)
            peak.write(to: &writer)
        case .constantQuantizer(let quantizer):
            writer.integer(UInt8(3))
            writer.integer(quantizer)
        }
    }
}

extension BFrames: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: self = .off
        case 1: self = .automatic
        case 2: self = .maximum(try reader.integer())
        case let other: throw reader.error("BFrames", at: start, .noSuchValue(given: "case \(other)"))
        }
    }

    func write(to writer: inout WireWriter) {
        switch self {
        case .off: writer.integer(UInt8(0))
        case .automatic: writer.integer(UInt8(1))
        case .maximum(let count):
            writer.integer(UInt8(2))
            writer.integer(count)
        }
    }
}

extension KeyFrameInterval: WireStructure {
    static var blank: KeyFrameInterval { .init() }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&frames)
        try visitor.field(&duration)
    }
}

extension SoftwareEncoderOptions: WireStructure {
    static var blank: SoftwareEncoderOptions { .init() }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&preset)
        try visitor.field(&tuning)
        try visitor.field(&threads)
        try visitor.field(&instructionSet)
    }
}

extension HardwareEncoderOptions: WireStructure {
    static var blank: HardwareEncoderOptions { .init() }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&lowPower)
        try visitor.field(&qualityLevel)
        try visitor.field(&framesInFlight)
        try visitor.field(&controlsMacroblocks)
    }
}

extension EncoderConfiguration: WireStructure {
    static var blank: EncoderConfiguration { .init() }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&width)
        try visitor.field(&height)
        try visitor.field(&codec)
        try visitor.field(&profile)
        try visitor.field(&h264Level)
        try visitor.field(&hevcLevel)
        try visitor.field(&chromaFormat)
        try visitor.field(&bitDepth)
        try visitor.field(&prefersBitDepth)
        try visitor.field(&frameRate)
        try visitor.field(&isFrameRateVariable)
        try visitor.field(&rateControl)
        try visitor.field(&keyFrameInterval)
        try visitor.field(&allowsOpenGOP)
        try visitor.field(&bFrames)
        try visitor.field(&allowsBPyramid)
        try visitor.field(&entropyMode)
        try visitor.field(&color)
        try visitor.field(&pixelAspectRatio)
        try visitor.field(&masteringDisplay)
        try visitor.field(&contentLight)
        try visitor.field(&accessUnitDelimiters)
        try visitor.field(&isLowLatency)
        try visitor.field(&slices)
        try visitor.field(&usesIntraRefresh)
        try visitor.field(&temporalLayers)
        try visitor.field(&longTermReferences)
        try visitor.field(&maximumFrameSize)
        try visitor.field(&quantizerRange)
        try visitor.field(&initialBufferFullness)
        try visitor.field(&scaling)
        try visitor.field(&software)
        try visitor.field(&hardware)
    }
}

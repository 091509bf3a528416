// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport

// Parameter sets of both codecs: what is read can be written, as the same bytes, traced, and asked for all that follows
// from it.
//
// Input: a byte that says which kind, and a NAL unit.

private enum Kind: UInt8, CaseIterable {
    case h264Sequence, h264Picture, h264PictureOf444, hevcVideo, hevcSequence, hevcPicture

    init?(_ codec: VideoCodec, _ unit: [UInt8]) {
        switch (codec, UnitKind(codec, unit)) {
        case (.h264, .sequenceSet): self = .h264Sequence
        case (.h264, .pictureSet): self = .h264Picture
        case (.hevc, .videoSet): self = .hevcVideo
        case (.hevc, .sequenceSet): self = .hevcSequence
        case (.hevc, .pictureSet): self = .hevcPicture
        default: return nil
        }
    }
}

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        SeedStream.all.flatMap { stream in
            stream.units.compactMap { unit in Kind(stream.codec, unit).map { [$0.rawValue] + unit } }
        }
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    let kind = Kind.allCases[Int(input.byte()) % Kind.allCases.count]
    let unit = input.remainder()
    switch kind {
    case .h264Sequence:
        guard let set = try? H264SequenceParameterSet(nalUnit: unit) else { break }
        same(unit, try? set.nalUnit(), try? set.trace())
        use(set)
    case .h264Picture, .h264PictureOf444:
        let format: ChromaFormat = kind == .h264Picture ? .yuv420 : .yuv444
        guard let set = try? H264PictureParameterSet(nalUnit: unit, chromaFormat: format) else { break }
        same(unit, try? set.nalUnit(), try? set.trace())
    case .hevcVideo:
        guard let set = try? HEVCVideoParameterSet(nalUnit: unit) else { break }
        same(unit, try? set.nalUnit(), try? set.trace())
    case .hevcSequence:
        guard let set = try? HEVCSequenceParameterSet(nalUnit: unit) else { break }
        same(unit, try? set.nalUnit(), try? set.trace())
        use(set)
    case .hevcPicture:
        guard let set = try? HEVCPictureParameterSet(nalUnit: unit) else { break }
        same(unit, try? set.nalUnit(), try? set.trace())
    }
    return 0
}

private func same(_ unit: [UInt8], _ written: [UInt8]?, _ trace: [SyntaxElement]?) {
    guard let written, let trace else { fatalError("a set was read and cannot be written") }
    precondition(!trace.isEmpty)
    // Escapes that are not needed are not written again, nor zeros behind the end.
    var content = EmulationPrevention.removed(from: unit)
    while content.last == 0 { content.removeLast() }
    let again = EmulationPrevention.removed(from: written)
    precondition(again == content, "a set is written as other bytes than it was read from")
}

private func use(_ set: H264SequenceParameterSet) {
    _ = (set.profileName, set.level, set.sampleAspectRatio, set.frameRate, set.colourDescription, set.isFullRange)
    precondition((0...16).contains(set.maxDpbFrames) && set.maxNumReorderFrames >= 0)
    precondition(set.lumaBitDepth <= 14 && set.chromaBitDepth <= 14)
    let (coded, displayed) = (set.codedSize, set.displaySize)
    precondition(displayed.width > 0 && displayed.width <= coded.width, "\(displayed) of \(coded)")
    precondition(displayed.height > 0 && displayed.height <= coded.height, "\(displayed) of \(coded)")
    for index in 0..<32 {
        _ = set.vui?.nalHRD?.bitRate(ofSchedule: index)
        _ = set.vui?.vclHRD?.cpbSize(ofSchedule: index)
    }
    var other = set
    for side in [1, 2, 16, displayed.width] {
        try? other.setDisplaySize(PictureSize(width: side, height: displayed.height))
    }
}

private func use(_ set: HEVCSequenceParameterSet) {
    _ = (set.profileName, set.sampleAspectRatio, set.frameRate, set.colourDescription, set.isFullRange)
    precondition(set.maxNumReorderPics >= 0 && set.maxDecPicBuffering > 0)
    precondition(set.lumaBitDepth <= 16 && set.chromaBitDepth <= 16 && (3...6).contains(set.ctbLog2Size))
    let (coded, displayed) = (set.codedSize, set.displaySize)
    precondition(displayed.width > 0 && displayed.width <= coded.width, "\(displayed) of \(coded)")
    precondition(displayed.height > 0 && displayed.height <= coded.height, "\(displayed) of \(coded)")
    var other = set
    for side in [1, 2, 16, displayed.width] {
        try? other.setDisplaySize(PictureSize(width: side, height: displayed.height))
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport

// The decoder configuration records of both codecs (avcC, hvcC): written as they were read, and made of any NAL units.
//
// Input: a byte (bit 0 HEVC, bit 1 whether a record is made of the NAL units of an Annex B stream), and the data.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        try SeedStream.all.flatMap { stream in
            let codec: UInt8 = stream.codec == .h264 ? 0 : 1
            let record = try make(stream.codec, stream.units)
            return [[codec] + record, [codec | 2] + (try NALUnitFraming.annexB.join(stream.units))]
        }
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    let choice = input.byte()
    let codec: VideoCodec = choice & 1 == 0 ? .h264 : .hevc
    let data = input.remainder()
    if choice & 2 == 0 {
        read(codec, data)
    } else if let units = try? NALUnitFraming.annexB.nalUnits(in: data),
        let record = try? make(codec, units.map { Array(data[$0]) })
    {
        read(codec, record, isOwn: true)
    }
    return 0
}

private func make(_ codec: VideoCodec, _ units: [[UInt8]]) throws(BitstreamError) -> [UInt8] {
    switch codec {
    case .h264: try AVCDecoderConfigurationRecord(nalUnits: units).bytes()
    case .hevc: try HEVCDecoderConfigurationRecord(nalUnits: units, isComplete: true).bytes()
    }
}

/// - Parameter isOwn: Whether these bytes were written here, so that they must be a record.
private func read(_ codec: VideoCodec, _ bytes: [UInt8], isOwn: Bool = false) {
    let written: [UInt8]?
    switch codec {
    case .h264: written = (try? AVCDecoderConfigurationRecord(bytes: bytes))?.written
    case .hevc: written = (try? HEVCDecoderConfigurationRecord(bytes: bytes))?.written
    }
    guard let written else {
        precondition(!isOwn, "a record that was written cannot be read")
        return
    }
    precondition(written == bytes, "a record is written as other bytes than it was read from")
}

extension AVCDecoderConfigurationRecord {
    fileprivate var written: [UInt8] {
        do { return try bytes() } catch { fatalError("a record was read and cannot be written: \(error)") }
    }
}

extension HEVCDecoderConfigurationRecord {
    fileprivate var written: [UInt8] {
        do { return try bytes() } catch { fatalError("a record was read and cannot be written: \(error)") }
    }
}

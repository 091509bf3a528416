// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes
import Testing

@testable import LiveSessions

@Suite("Pictures that a device has coded")
struct CodedPicturesTests {
    // H.264 Baseline, 160x120, as x264 writes it.
    private static let sps: [UInt8] = [
        0x67, 0x42, 0xC0, 0x0B, 0xD9, 0x02, 0x84, 0x7E, 0x5C, 0x04, 0x40, 0x00, 0x00,
        0x03, 0x00, 0x40, 0x00, 0x00, 0x0C, 0x83, 0xC5, 0x0A, 0x92,
    ]
    private static let pps: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
    private static let key: [UInt8] = [0x65, 0x88, 0x84]
    private static let other: [UInt8] = [0x41, 0x9A, 0x02]

    private func picture(_ units: [[UInt8]], at time: Int64, isKeyFrame: Bool = false, lost: Int = 0) -> CodedPicture {
        let bytes: [UInt8] = units.flatMap { (unit: [UInt8]) -> [UInt8] in [0, 0, 0, 1] + unit }
        let time = MediaTime(value: time, timescale: 25)
        return CodedPicture(CodedData(bytes), time: time, isKeyFrame: isKeyFrame, lostBefore: lost)
    }

    private func name(_ outcome: CodedPictures.Outcome) -> String {
        switch outcome {
        case .early: "early"
        case .lost: "lost"
        case .sample(let sample): sample.isKeyFrame ? "key" : "picture"
        }
    }

    @Test("begin with a key frame that has parameter sets")
    func begin() throws {
        var pictures = CodedPictures()
        #expect(name(try pictures.take(picture([Self.other], at: 0))) == "early")
        #expect(name(try pictures.take(picture([Self.key], at: 1, isKeyFrame: true))) == "early")
        let units = [Self.sps, Self.pps, Self.key]
        guard case .sample(let sample) = try pictures.take(picture(units, at: 2, isKeyFrame: true)) else {
            Issue.record("no sample")
            return
        }
        #expect(sample.data.withUnsafeBytes { Array($0) } == [0, 0, 0, 3] + Self.key)
        #expect(sample.formatDescription.parameterSets == [Self.sps, Self.pps] && sample.formatDescriptionChanged)
        #expect(name(try pictures.take(picture([Self.other], at: 3))) == "picture")
    }

    @Test("continue with a key frame after a gap")
    func gap() throws {
        var pictures = CodedPictures()
        let units = [Self.sps, Self.pps, Self.key]
        _ = try pictures.take(picture(units, at: 0, isKeyFrame: true))
        #expect(name(try pictures.take(picture([Self.other], at: 2, lost: 1))) == "lost")
        #expect(name(try pictures.take(picture([Self.other], at: 3))) == "lost")
        // Parameter sets are known already.
        #expect(name(try pictures.take(picture([Self.key], at: 4, isKeyFrame: true))) == "key")
        pictures.skipToKeyFrame()
        #expect(name(try pictures.take(picture([Self.other], at: 5))) == "lost")
        guard case .sample(let sample) = try pictures.take(picture(units, at: 6, isKeyFrame: true)) else {
            Issue.record("no sample")
            return
        }
        #expect(!sample.formatDescriptionChanged)
    }

    @Test("report parameter sets that cannot be read")
    func damaged() {
        var pictures = CodedPictures()
        #expect(throws: MediaError.self) {
            _ = try pictures.take(picture([[0x67, 0xFF], Self.pps, Self.key], at: 0, isKeyFrame: true))
        }
    }
}

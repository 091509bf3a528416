// SPDX-License-Identifier: GPL-2.0-or-later

import CX265
import MediaTypes
import Synchronization
import Testing

@testable import SoftwareEncoder

/// x265's lookahead may miss a beat under load: nothing comes out for a frame, and from then on every frame comes out one
/// frame later. Here it does so on demand, which a library in front of the library makes of it.
@Suite(.serialized) struct X265MissedBeatTests {
    private static let clip = TestClip(width: 192, height: 128, count: 60, hasSceneChange: false)

    /// A library that keeps back what came out for one frame in `period`, so that all after it come later.
    private func library(missingOneIn period: Int) throws -> X265Library {
        var library = try #require(X265Library(bitDepth: 8))
        Withheld.state.withLock { $0 = Withheld(encode: library.api.encoder_encode, period: period) }
        library.api.encoder_encode = { encoder, units, count, picture, result in
            Withheld.state.withLock { $0.answer(encoder, units, count, picture, result) }
        }
        return library
    }

    private func encode(missingOneIn period: Int) throws -> (frames: [CodedFrame], mostKept: Int, maximumDelay: Int) {
        var configuration = EncoderConfiguration(width: Self.clip.width, height: Self.clip.height)
        configuration.rateControl = .constantQuality(30)
        configuration.keyFrameInterval.frames = 250
        (configuration.software.preset, configuration.software.threads) = (.ultrafast, 2)
        let frames = Mutex<[CodedFrame]>([])
        let request = EncoderRequest(configuration: configuration, maximumReorderDepth: nil) { output in
            if case .coded(let frame) = output { frames.withLock { $0.append(frame) } }
        }
        let encoder = try X265Encoder(request, library: library(missingOneIn: period))
        var mostKept = 0
        for index in 0..<Self.clip.frames.count {
            let time = MediaTime(value: Int64(index), timescale: 30)
            let buffer = try Self.clip.buffer(index, format: .i420)
            try encoder.encode(EncoderFrame(number: Int64(index), buffer: buffer, presentationTime: time))
            mostKept = max(mostKept, index + 1 - frames.withLock { $0.count })
        }
        try encoder.drain()
        return (frames.withLock { $0 }, mostKept, encoder.properties.maximumDelay)
    }

    /// A session stops giving frames to an encoder that keeps more than `maximumDelay`, so that one miss was the end.
    @Test func aFewMissesAreAllowedFor() throws {
        let whole = try encode(missingOneIn: 1000)
        let late = try encode(missingOneIn: 13)
        #expect(late.mostKept > whole.mostKept && late.mostKept <= late.maximumDelay)
        #expect(late.frames.map(\.number) == whole.frames.map(\.number))
        #expect(late.frames.map(\.units) == whole.frames.map(\.units))
        #expect(late.frames.filter(\.isKeyFrame).count == 1)
    }

    /// What would be kept too long comes out, and a key frame follows.
    @Test func manyMissesBeginTheStreamAnew() throws {
        let late = try encode(missingOneIn: 3)
        #expect(late.mostKept <= late.maximumDelay + 1)
        #expect(late.frames.map(\.number).sorted() == Array(0..<Int64(Self.clip.frames.count)))
        #expect(late.frames.filter(\.isKeyFrame).count > 1)
    }
}

/// Coded frames that were kept back, and the function that they came from.
private struct Withheld {
    typealias Units = UnsafeMutablePointer<x265_nal>
    typealias Encode =
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<Units?>?, UnsafeMutablePointer<UInt32>?,
            UnsafeMutablePointer<x265_picture>?, UnsafeMutablePointer<x265_picture>?
        ) -> Int32

    static let state = Mutex(Withheld(encode: nil, period: 0))

    var encode: Encode?
    var period: Int
    private var frames: [Frame] = []
    /// What was answered last: it is valid until the next call.
    private var last: Frame?
    private var answers = 0

    /// A copy of what x265 has put out.
    private final class Frame: @unchecked Sendable {
        let units: UnsafeMutableBufferPointer<x265_nal>
        let picture: x265_picture

        init(_ units: Units, _ count: UInt32, _ picture: x265_picture) {
            self.units = .allocate(capacity: Int(count))
            self.picture = picture
            for index in self.units.indices {
                let bytes = Int(units[index].sizeBytes)
                let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes)
                copy.update(from: units[index].payload, count: bytes)
                self.units.initializeElement(
                    at: index,
                    to: x265_nal(type: units[index].type, sizeBytes: units[index].sizeBytes, payload: copy)
                )
            }
        }

        deinit {
            for unit in units { unit.payload.deallocate() }
            units.deallocate()
        }
    }

    init(encode: Encode?, period: Int) {
        (self.encode, self.period) = (encode, period)
    }

    mutating func answer(
        _ encoder: OpaquePointer?,
        _ units: UnsafeMutablePointer<Units?>?,
        _ count: UnsafeMutablePointer<UInt32>?,
        _ picture: UnsafeMutablePointer<x265_picture>?,
        _ result: UnsafeMutablePointer<x265_picture>?
    ) -> Int32 {
        guard let encode, let units, let count, let result else { return -1 }
        let status = encode(encoder, units, count, picture, result)
        guard status >= 0 else { return status }
        if status > 0, let coded = units.pointee { frames.append(Frame(coded, count.pointee, result.pointee)) }
        if status > 0 { answers += 1 }
        let isMissed = status > 0 && picture != nil && answers % period == 0
        guard !isMissed, !frames.isEmpty else {
            (units.pointee, count.pointee) = (nil, 0)
            return 0
        }
        let frame = frames.removeFirst()
        last = frame
        (units.pointee, count.pointee) = (frame.units.baseAddress, UInt32(frame.units.count))
        result.pointee = frame.picture
        return 1
    }
}

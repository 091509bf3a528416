// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Testing

@testable import Capture

@Suite(.blocks) struct LevelMeterTests {
    /// A square wave in the left channel at half of full scale has the same peak and root mean square, in any format.
    @Test(arguments: AudioFormat.SampleType.allCases, [true, false])
    func levelsAreThoseOfTheChannels(type: AudioFormat.SampleType, isInterleaved: Bool) throws {
        let format = AudioFormat(sampleType: type, sampleRate: 48000, layout: .stereo, isInterleaved: isInterleaved)
        let values = [half(type, 1), half(type, -1)]
        let silence = [UInt8](repeating: 0, count: type.byteCount)
        let left = (0..<100).map { values[$0 % 2] }
        let planes =
            isInterleaved ? [left.flatMap { $0 + silence }] : [left.flatMap { $0 }, left.flatMap { _ in silence }]
        var meter = LevelMeter()
        #expect(meter.take().isEmpty)
        meter.append(try AudioBuffer(planes: planes, format: format))
        meter.append(AudioBuffer(format: format, frameCount: 100))
        let levels = meter.take()
        try #require(levels.count == 2)
        #expect(abs(levels[0].peak + 6.0206) < 0.001)
        #expect(abs(levels[0].rootMeanSquare + 9.0309) < 0.001)
        #expect(levels[1] == LevelMeter.Level(peak: -.infinity, rootMeanSquare: -.infinity))
        #expect(meter.take().isEmpty)
    }

    private func half(_ type: AudioFormat.SampleType, _ sign: Double) -> [UInt8] {
        let value = sign / 2
        return switch type {
        case .int16: withUnsafeBytes(of: Int16(value * 0x8000), Array.init)
        case .int24: withUnsafeBytes(of: Int32(value * 0x80_0000)) { Array($0.prefix(3)) }
        case .int32: withUnsafeBytes(of: Int32(value * 0x8000_0000), Array.init)
        case .float32: withUnsafeBytes(of: Float(value), Array.init)
        }
    }

    /// Numbers that are not finite do not spoil a level, and a change of the channels starts again.
    @Test func oddBuffersAreHarmless() {
        var meter = LevelMeter()
        let mono = AudioFormat(sampleType: .float32, sampleRate: 48000, layout: .mono)
        let stereo = AudioFormat(sampleType: .float32, sampleRate: 48000, layout: .stereo)
        meter.append(AudioBuffer(format: stereo, frameCount: 10))
        meter.append(
            AudioBuffer(format: mono, frameCount: 4) { _, memory in
                memory.copyBytes(from: [Float.nan, .infinity, 1, -1].withUnsafeBytes(Array.init))
            }
        )
        let levels = meter.take()
        #expect(levels.map(\.peak) == [0])
        #expect(abs((levels.first?.rootMeanSquare ?? 0) + 3.0103) < 0.001)
        meter.append(AudioBuffer(format: mono, frameCount: 0))
        #expect(meter.take().isEmpty)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaTypes
import Testing

@Suite struct AudioDecoderTests {
    private let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)

    private func encoded(_ codec: AudioCodec) throws -> ([AudioSample], AudioStreamDescription) {
        let buffers = try Signal.clicks([20000], count: 40000).buffers(format) {
            MediaTime(value: Int64($0), timescale: 48000)
        }
        let (samples, _, encoder) = try roundTrip(buffers, AudioEncoderSettings(codec))
        return (samples, encoder.description)
    }

    @Test func unknownCodecsAreRefused() throws {
        let description = AudioStreamDescription(codecName: "nosuch", sampleRate: 48000, layout: .mono)
        let error = #expect(throws: MediaError.self) { try AudioDecoder(description) }
        #expect(error?.code == .unsupported && error?.given == "nosuch")
    }

    /// One lost sample is a hole; what follows has its own times.
    @Test func damageIsCountedAndSkipped() throws {
        var (samples, description) = try encoded(.flac)
        let lost = 2
        samples[lost].data = CodedData([UInt8](repeating: 0x55, count: 200))
        let decoder = try AudioDecoder(description)
        var buffers: [AudioBuffer] = []
        for sample in samples { buffers += try decoder.decode(sample) }
        buffers += try decoder.finish()
        #expect(decoder.failureCount == 1)
        #expect(decoder.firstFailure?.code == .malformedData)
        let times = buffers.map(\.presentationTime)
        #expect(times == samples.indices.filter { $0 != lost }.map { samples[$0].presentationTime })
    }

    @Test func endIsEnd() throws {
        let (samples, description) = try encoded(.aac)
        let decoder = try AudioDecoder(description)
        _ = try decoder.decode(samples[0])
        _ = try decoder.finish()
        #expect(try decoder.finish().isEmpty)
        let error = #expect(throws: MediaError.self) { try decoder.decode(samples[1]) }
        #expect(error?.code == .invalidState)
    }

    @Test func samplesAreTrimmedAtBothEnds() throws {
        var (samples, description) = try encoded(.pcm)
        samples[0].trimAtStart = 100
        samples[samples.count - 1].trimAtEnd = 50
        let decoder = try AudioDecoder(description)
        var buffers: [AudioBuffer] = []
        for sample in samples { buffers += try decoder.decode(sample) }
        buffers += try decoder.finish()
        #expect(buffers.map(\.frameCount).reduce(0, +) == 40000 - 150)
        #expect(buffers.first?.presentationTime == MediaTime(value: 100, timescale: 48000))
    }

    /// Random bytes neither crash nor hang.
    @Test(arguments: ["aac", "opus", "flac", "mp3", "ac3", "vorbis", "pcm_u8", "pcm_f64le"])
    func anyBytesAreSurvived(codec: String) throws {
        var random = SystemRandomNumberGenerator()
        var description = AudioStreamDescription(codecName: codec, sampleRate: 44100, layout: .stereo)
        description.blockByteCount = 4
        guard let decoder = try? AudioDecoder(description) else { return }
        for index in 0..<200 {
            let bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in UInt8.random(in: 0...255) }
            let sample = AudioSample(
                data: CodedData(bytes),
                presentationTime: MediaTime(value: Int64(index), timescale: 100)
            )
            _ = try decoder.decode(sample)
        }
        _ = try decoder.finish()
    }
}

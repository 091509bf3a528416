// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Testing

/// FFmpeg's encoder and muxers write what is compared here.
@Suite struct AudioConfigurationTests {
    @Test(arguments: AudioSpecificConfig.sampleRates)
    func headersAreThoseOfLibavformat(sampleRate: Int) throws {
        let folder = try TemporaryFolder()
        for (channels, layout) in [
            (1, "mono"), (2, "stereo"), (3, "3.0"), (4, "4.0"), (5, "5.0"), (6, "5.1"), (8, "7.1"),
        ] {
            let aac = folder.path("\(channels).aac")
            _ = try run(
                "ffmpeg",
                [
                    "-v", "error", "-y", "-f", "lavfi", "-i", "anullsrc=r=\(sampleRate):cl=\(layout):d=0.3", "-c:a",
                    "aac", aac,
                ],
                in: folder
            )
            let mp4 = folder.path("\(channels).mp4")
            _ = try run("ffmpeg", ["-v", "error", "-y", "-i", aac, "-c", "copy", mp4], in: folder)
            let stream = try [UInt8](Data(contentsOf: URL(fileURLWithPath: aac)))
            let number = channels == 8 ? 7 : channels
            var expected = AudioSpecificConfig(sampleRate: sampleRate, channelConfiguration: number)
            expected.remainder = RawBits()
            let header = try ADTSHeader(bytes: stream)
            #expect(header.configuration == expected)
            #expect(header.configuration.channelCount == channels)
            #expect(try header.bytes() == Array(stream.prefix(header.byteCount)))

            // Every frame of the stream, and the header that is made from the configuration in the box.
            let box = try decoderSpecificInfo(in: mp4)
            let configuration = try AudioSpecificConfig(bytes: box)
            #expect(configuration.samplingFrequency.sampleRate == sampleRate)
            #expect(configuration.channelConfiguration == UInt32(number))
            #expect(try configuration.bytes().starts(with: box))
            var position = 0
            var frames = 0
            while position < stream.count {
                let frame = try ADTSHeader(bytes: stream[position...])
                let length = Int(frame.frameLength)
                var made = try ADTSHeader(configuration, byteCount: length - frame.byteCount)
                made.bufferFullness = frame.bufferFullness
                #expect(made == frame)
                position += length
                frames += 1
            }
            #expect(position == stream.count && frames > 1)
        }
    }

    /// The `DecoderSpecificInfo` of an `esds` box: ISO/IEC 14496-1 7.2.6.7.
    private func decoderSpecificInfo(in file: String) throws -> [UInt8] {
        let esds = try box("esds", in: file)
        // libavformat writes every length with four bytes.
        let start = try #require(Data(esds).range(of: Data([5, 0x80, 0x80, 0x80])))
        let (position, length) = (start.upperBound + 1, Int(esds[start.upperBound]))
        return Array(esds[position..<position + length])
    }

    @Test func keepsEveryElement() throws {
        var configuration = AudioSpecificConfig(sampleRate: 22050, channelConfiguration: 2)
        configuration.bandReplication = .init(hasParametricStereo: true, samplingFrequency: .init(44100))
        configuration.frameLengthFlag = true
        configuration.coreCoderDelay = 0x2AAA
        configuration.extensionFlag = true
        for bit in [true, false, true, true] { configuration.remainder.append(bit) }
        let bytes = try configuration.bytes()
        var read = try AudioSpecificConfig(bytes: bytes)
        // The bits that fill the last byte belong to what is kept.
        #expect((0..<4).map { read.remainder[$0] } == [true, false, true, true])
        read.remainder = configuration.remainder
        #expect(read == configuration)
        #expect(read.samplesPerFrame == 960)

        let odd = AudioSpecificConfig(sampleRate: 37800, channelConfiguration: 1)
        #expect(odd.samplingFrequency.index == 15)
        #expect(try AudioSpecificConfig(bytes: odd.bytes()).samplingFrequency.sampleRate == 37800)
    }

    @Test func refusesWhatIsNotAAC() throws {
        func error(_ bytes: [UInt8]) -> String? {
            do throws(BitstreamError) {
                _ = try AudioSpecificConfig(bytes: bytes)
                return nil
            } catch {
                return error.field
            }
        }
        #expect(error([]) == "audioObjectType")
        // ALS, object type 36, and the reserved rate 13.
        #expect(error([0xF8, 0x80, 0, 0]) == "audioObjectType")
        #expect(error([0b00010_110, 0b1_0010_000]) == "samplingFrequencyIndex")
        #expect(error([0x12]) == "samplingFrequencyIndex")
    }

    @Test func refusesWhatADTSCannotSay() throws {
        let odd = AudioSpecificConfig(sampleRate: 37800, channelConfiguration: 1)
        #expect(throws: BitstreamError.self) { try ADTSHeader(odd, byteCount: 100) }
        var short = AudioSpecificConfig(sampleRate: 48000, channelConfiguration: 1)
        #expect(throws: BitstreamError.self) { try ADTSHeader(short, byteCount: 8185) }
        #expect(try ADTSHeader(short, byteCount: 8184).frameLength == 8191)
        short.frameLengthFlag = true
        #expect(throws: BitstreamError.self) { try ADTSHeader(short, byteCount: 100) }
    }

    @Test func checksumsHaveTheirPlace() throws {
        var header = try ADTSHeader(AudioSpecificConfig(sampleRate: 8000, channelConfiguration: 1), byteCount: 20)
        header.checksum = 0xBEEF
        header.frameLength += 2
        let bytes = try header.bytes()
        #expect(bytes.count == 9 && Array(bytes.suffix(2)) == [0xBE, 0xEF])
        #expect(try ADTSHeader(bytes: bytes + [1, 2, 3]) == header)
        for count in 0..<9 {
            #expect(throws: BitstreamError.self) { try ADTSHeader(bytes: bytes.prefix(count)) }
        }
    }

    @Test func anyBytesAreReadOrRefused() throws {
        var random = SeededGenerator(seed: 5)
        var (headers, configurations) = (0, 0)
        for _ in 0..<20000 {
            var bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if let configuration = try? AudioSpecificConfig(bytes: bytes) {
                configurations += 1
                #expect(try configuration.bytes() == bytes)
            }
            if bytes.count > 1 { (bytes[0], bytes[1]) = (0xFF, bytes[1] | 0xF0) }
            if let header = try? ADTSHeader(bytes: bytes) {
                headers += 1
                #expect(try bytes.starts(with: header.bytes()))
            }
        }
        #expect(headers > 100 && configurations > 100)
    }
}

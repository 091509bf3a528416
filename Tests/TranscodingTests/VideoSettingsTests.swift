// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import MediaIO
@testable import Transcoding

/// What of a track an encoder is asked to keep.
@Suite struct VideoSettingsTests {
    private func track(_ format: PixelFormat, bitDepth: Int, _ chroma: ChromaFormat = .yuv420) -> VideoTrack {
        VideoTrack(
            index: 0,
            width: 64,
            height: 48,
            pixelFormat: format,
            codecName: "test",
            pixelFormatName: format.rawValue,
            bitDepth: bitDepth,
            chromaFormat: chroma,
            color: .unspecified,
            pixelAspectRatio: .one,
            attachments: PixelAttachments(),
            isVariableFrameRate: false,
            orientation: .upright,
            isInterlaced: false,
            lostMetadata: []
        )
    }

    /// Twelve bits that are asked for are neither lowered to the track's nor left to a codec that has eight.
    @Test(arguments: [(PixelFormat.p010, 10), (.i420, 8), (.i012, 12)])
    func theBitDepthThatIsAskedForIsTheLeast(format: PixelFormat, bitDepth: Int) {
        var settings = VideoSettings()
        settings.base.bitDepth = 12
        let (configuration, adjustments) = settings.configuration(for: track(format, bitDepth: bitDepth))
        #expect(configuration.bitDepth == 12 && configuration.fixedCodec == .hevc && !configuration.prefersBitDepth)
        #expect(adjustments.isEmpty)
    }

    @Test(arguments: [(10, 10, 10), (12, 10, 10), (10, 12, 10), (12, 12, 12), (16, 12, 12)])
    func trackBitsAreKeptUpToTheHighest(track bits: Int, highest: Int, used: Int) {
        var settings = VideoSettings()
        settings.mostKeptBits = highest
        let (configuration, adjustments) = settings.configuration(for: track(.p010, bitDepth: bits))
        #expect(configuration.bitDepth == used)
        #expect(adjustments.map(\.used) == (used < bits ? ["\(used)"] : []))
    }

    @Test(arguments: [8, 9, 11, 16]) func otherHighestBitDepthsAreRefused(bits: Int) throws {
        var request = TranscodeRequest(input: "nowhere.mp4", output: "null")
        request.video.mostKeptBits = bits
        let error = #expect(throws: MediaError.self) { try request.video.validate() }
        #expect(error?.code == .invalidArgument && error?.given == "\(bits)" && error?.allowed == "10, 12")
    }
}

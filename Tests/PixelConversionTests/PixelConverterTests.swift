// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion
import Testing

@Suite struct PassThroughTests {
    private final class Surface: DeviceSurface {
        let device = "/dev/dri/renderD128"
    }

    private let wanted = PixelBuffer.Description(
        format: .nv12,
        width: 64,
        height: 32,
        color: .bt709,
        pixelAspectRatio: Rational(4, 3)
    )

    @Test func aPictureAsWantedIsReturnedItself() throws {
        for mode in ScalingMode.allCases {
            let converter = try PixelConverter(output: wanted, scaling: mode)
            var description = wanted
            description.attachments.captions = [1, 2, 3]
            for color in [ColorDescription.bt709, .unspecified] {
                description.color = color
                description.color.primaries = .displayP3
                let source = try PixelBuffer(description)
                #expect(try converter.convert(source) === source)
            }
        }
    }

    @Test func whateverDiffersMakesANewPicture() throws {
        let converter = try PixelConverter(output: wanted)
        var others = [PixelBuffer.Description](repeating: wanted, count: 6)
        others[0].format = .i420
        others[1].width = 66
        others[2].height = 30
        others[3].color.matrix = .bt601Lines525
        others[4].color.range = .full
        others[5].pixelAspectRatio = .one
        for description in others {
            let source = try PixelBuffer(description)
            let result = try converter.convert(source)
            #expect(result !== source)
            #expect(result.pictureDescription == wanted)
        }
    }

    @Test func picturesThatTheCPUCannotReachPassOrAreRefused() throws {
        let converter = try PixelConverter(output: wanted)
        let surface = try PixelBuffer(wanted, surface: Surface())
        #expect(try converter.convert(surface) === surface)
        var other = wanted
        other.width = 128
        let planes = [0, 4096].map { DMABuffer.Plane(object: 0, layout: .init(offset: $0, bytesPerRow: 128)) }
        let dmaBuf = DMABuffer(fileDescriptors: [-1], planes: planes, modifier: 0x0100_0000_0000_0002)
        for source in [
            try PixelBuffer(other, surface: Surface()), try PixelBuffer(other, dmaBuf: dmaBuf, release: {}),
        ] {
            let error = #expect(throws: MediaError.self) { try converter.convert(source) }
            #expect(error?.code == .unsupported)
            #expect(error?.given == source.storage.name)
        }
    }
}

@Suite struct ConverterTests {
    @Test func outputsThatCannotBeAreRefused() throws {
        for format in [PixelFormat.bgra, .yuy2] {
            let error = #expect(throws: MediaError.self) {
                try PixelConverter(output: .init(format: format, width: 16, height: 16))
            }
            #expect(error?.code == .unsupported)
            #expect(error?.given == format.rawValue)
            #expect(error?.allowed == "nv12, i420, p010, i012, i422, i210, i212, i444, i410, i412")
        }
        for (width, height) in [(15, 16), (16, 15), (0, 16), (16, 0), (-2, 16), (16, 32770), (Int.max, Int.min)] {
            let error = #expect(throws: MediaError.self) {
                try PixelConverter(output: .init(format: .nv12, width: width, height: height))
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.given == "\(width)x\(height)")
            #expect(error?.allowed != nil)
        }
    }

    @Test func anOutputWithoutPixelAspectRatioHasSquarePixels() throws {
        var output = PixelBuffer.Description(format: .nv12, width: 32, height: 32)
        output.pixelAspectRatio = Rational(0, 0)
        let result = try PixelConverter(output: output).convert(Picture(.i420, 64, 64).buffer())
        #expect(result.pixelAspectRatio == .one)
    }

    @Test func attachmentsTravel() throws {
        let attachments = PixelAttachments(
            contentLight: .init(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 200),
            captions: [0xFC, 0x80, 0x80],
            regionsOfInterest: [.init(x: 8, y: 8, width: 8, height: 4, quantizerOffset: -3)]
        )
        let source = try Picture(.i420, 32, 16).buffer(attachments: attachments)
        let result = try PixelConverter(output: .init(format: .nv12, width: 64, height: 32)).convert(source)
        var expected = attachments
        expected.regionsOfInterest = [.init(x: 16, y: 16, width: 16, height: 8, quantizerOffset: -3)]
        #expect(result.attachments == expected)
    }

    @Test func memoryOfResultsIsUsedAgain() throws {
        let converter = try PixelConverter(output: .init(format: .nv12, width: 32, height: 32))
        let source = try Picture(.i420, 32, 32).buffer()
        func address() throws -> UnsafeMutableRawPointer {
            try converter.convert(source).withPlanes { planes throws(MediaError) in planes[0].baseAddress }
        }
        let first = try address()
        for _ in 0..<5 { #expect(try address() == first) }
    }

    @Test func resultsCanBeShared() throws {
        let output = PixelBuffer.Description(format: .nv12, width: 32, height: 32)
        let result = try PixelConverter(output: output, memory: .shared).convert(Picture(.i420, 32, 32).buffer())
        guard case .sharedMemory = result.storage else {
            Issue.record("\(result.storage.name)")
            return
        }
    }

    /// Layout changes of one depth lose nothing, so the codes have to be the very same.
    @Test(arguments: [PixelFormat.nv12, .i420, .p010, .yuy2], outputFormats)
    func layoutsOfOneDepthKeepEveryCode(source: PixelFormat, target: PixelFormat) throws {
        guard source.bitDepth == target.bitDepth else { return }
        var generator = SeededGenerator(seed: 21)
        for (width, height) in [(2, 2), (16, 2), (2, 16), (30, 18), (64, 64), (130, 34)] {
            let picture = Picture.random(source, width, height, &generator)
            var expected = Picture(target, width, height)
            for y in 0..<height {
                for x in 0..<width { expected.setLuma(x, y, picture.luma(x, y)) }
            }
            for y in 0..<height / 2 {
                for x in 0..<width / 2 {
                    guard source == .yuy2 else {
                        let (cb, cr) = picture.chroma(x, y)
                        expected.setChroma(x, y, cb, cr)
                        continue
                    }
                    let (upper, lower) = (picture.chroma(x, 2 * y), picture.chroma(x, 2 * y + 1))
                    expected.setChroma(x, y, (upper.cb + lower.cb + 1) / 2, (upper.cr + lower.cr + 1) / 2)
                }
            }
            // Another pixel aspect ratio, so that pictures of one format are not returned as they are.
            let converter = try PixelConverter(
                output: .init(format: target, width: width, height: height),
                scaling: .stretch
            )
            let result = try converter.convert(picture.buffer(pixelAspectRatio: Rational(2)))
            #expect(try Picture(result) == expected)
        }
    }

    @Test(arguments: PixelFormat.allCases, outputFormats)
    func paddingPlaysNoPart(source: PixelFormat, target: PixelFormat) throws {
        var generator = SeededGenerator(seed: 22)
        let converters = try ScalingMode.allCases.flatMap { mode in
            try [ColorDescription.unspecified, .bt709].map { color in
                try PixelConverter(output: .init(format: target, width: 62, height: 48, color: color), scaling: mode)
            }
        }
        for (width, height) in [(62, 48), (1, 1), (3, 5), (61, 47), (33, 90), (255, 17)] {
            let picture = Picture.random(source, width, height, &generator)
            for converter in converters {
                let packed = try Picture(converter.convert(picture.buffer(color: .bt601)))
                for poison in [UInt8(0), 0xFF] {
                    let padded = try picture.buffer(color: .bt601, padding: 202, poison: poison)
                    #expect(try Picture(converter.convert(padded)) == packed)
                }
            }
        }
    }
}

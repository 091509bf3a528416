// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import PixelConversion

@Suite struct GeometryTests {
    private func geometry(
        _ source: PictureShape,
        _ output: PictureShape,
        _ scaling: ScalingMode
    ) -> PictureGeometry {
        PictureGeometry(source: source, output: output, scaling: scaling)
    }

    @Test(arguments: [
        // Bars left and right, above and below, none.
        (PictureShape(640, 480), PictureShape(1280, 720), PictureArea(x: 160, width: 960, height: 720)),
        (PictureShape(1920, 800), PictureShape(1280, 720), PictureArea(y: 92, width: 1280, height: 534)),
        (PictureShape(1920, 1080), PictureShape(1280, 720), PictureArea(width: 1280, height: 720)),
        (PictureShape(1080, 1920), PictureShape(1920, 1080), PictureArea(x: 656, width: 608, height: 1080)),
        // PAL widescreen: 720x576 of 64:45 is 16:9; without knowing it, it is 5:4.
        (PictureShape(720, 576, Rational(64, 45)), PictureShape(1280, 720), PictureArea(width: 1280, height: 720)),
        (PictureShape(720, 576), PictureShape(1280, 720), PictureArea(x: 190, width: 900, height: 720)),
        (PictureShape(720, 576, Rational(0, 0)), PictureShape(1280, 720), PictureArea(x: 190, width: 900, height: 720)),
        // Pixels of the output that are not square.
        (PictureShape(1280, 720), PictureShape(720, 576, Rational(64, 45)), PictureArea(width: 720, height: 576)),
        (PictureShape(720, 576, Rational(64, 45)), PictureShape(720, 576), PictureArea(y: 84, width: 720, height: 406)),
        // A line stays visible.
        (PictureShape(32768, 1), PictureShape(64, 64), PictureArea(y: 30, width: 64, height: 2)),
    ])
    func letterboxKeepsTheShape(source: PictureShape, output: PictureShape, target: PictureArea) {
        let geometry = geometry(source, output, .letterbox)
        #expect(geometry.source == source.area)
        #expect(geometry.target == target)
    }

    @Test(arguments: [
        (PictureShape(640, 480), PictureShape(1280, 720), PictureArea(y: 60, width: 640, height: 360)),
        (PictureShape(1920, 1080), PictureShape(1080, 1920), PictureArea(x: 656, width: 608, height: 1080)),
        (PictureShape(720, 576, Rational(64, 45)), PictureShape(1280, 720), PictureArea(width: 720, height: 576)),
        (PictureShape(801, 301), PictureShape(100, 100), PictureArea(x: 250, width: 302, height: 301)),
        (PictureShape(1, 1), PictureShape(200, 100), PictureArea(width: 1, height: 1)),
    ])
    func aspectFillCutsTheCentre(source: PictureShape, output: PictureShape, visible: PictureArea) {
        let geometry = geometry(source, output, .aspectFill)
        #expect(geometry.source == visible)
        #expect(geometry.target == output.area)
    }

    @Test func areasLieInsideAndOnChromaSamples() {
        var generator = SeededGenerator(seed: 11)
        func ratio() -> Rational {
            Rational(.random(in: 0...64, using: &generator), .random(in: 0...64, using: &generator))
        }
        for _ in 0..<2000 {
            func side() -> Int { .random(in: 1...300, using: &generator) }
            let source = PictureShape(side(), side(), ratio())
            let output = PictureShape(2 * side(), 2 * side(), ratio())
            for mode in ScalingMode.allCases {
                let geometry = geometry(source, output, mode)
                for (area, whole) in [(geometry.source, source.area), (geometry.target, output.area)] {
                    #expect(area.x >= 0 && area.y >= 0 && area.width > 0 && area.height > 0)
                    #expect(area.x + area.width <= whole.width && area.y + area.height <= whole.height)
                    #expect(area.x % 2 == 0 && area.y % 2 == 0)
                    #expect(area.width % 2 == 0 || area.width == whole.width)
                    #expect(area.height % 2 == 0 || area.height == whole.height)
                    let (right, below) = (whole.width - area.width - area.x, whole.height - area.height - area.y)
                    #expect(abs(right - area.x) <= 2 || area.width == whole.width)
                    #expect(abs(below - area.y) <= 2 || area.height == whole.height)
                }
                #expect(mode != .stretch || geometry.source == source.area && geometry.target == output.area)
                #expect(mode != .letterbox || geometry.source == source.area)
                #expect(mode != .aspectFill || geometry.target == output.area)
            }
        }
    }

    @Test func onlyTheSameShapeIsTheIdentity() {
        let anamorphic = PictureShape(720, 576, Rational(16, 11))
        for mode in ScalingMode.allCases {
            #expect(geometry(anamorphic, PictureShape(720, 576, Rational(32, 22)), mode).isIdentity)
            #expect(geometry(PictureShape(8, 8, Rational(0, 1)), PictureShape(8, 8), mode).isIdentity)
            #expect(!geometry(anamorphic, PictureShape(720, 576), mode).isIdentity)
            #expect(!geometry(PictureShape(8, 8), PictureShape(16, 16), mode).isIdentity)
        }
    }

    @Test func regionsOfInterestFollowTheirContent() {
        func moved(_ regions: [RegionOfInterest], _ geometry: PictureGeometry) -> [RegionOfInterest] {
            geometry.moving(PixelAttachments(regionsOfInterest: regions)).regionsOfInterest
        }
        let face = RegionOfInterest(x: 320, y: 240, width: 64, height: 48, quantizerOffset: -5)
        let boxed = geometry(PictureShape(640, 480), PictureShape(1280, 720), .letterbox)
        #expect(moved([face], boxed) == [.init(x: 640, y: 360, width: 96, height: 72, quantizerOffset: -5)])
        let filled = geometry(PictureShape(640, 480), PictureShape(1280, 720), .aspectFill)
        let corner = RegionOfInterest(x: 0, y: 0, width: 640, height: 60, quantizerOffset: 3)
        #expect(moved([face, corner], filled) == [.init(x: 640, y: 360, width: 128, height: 96, quantizerOffset: -5)])
        let absurd = RegionOfInterest(x: .min, y: .min, width: .max, height: .max, quantizerOffset: 0)
        let endless = RegionOfInterest(x: -10, y: -10, width: .max, height: .max, quantizerOffset: 0)
        #expect(moved([absurd, endless], filled) == [.init(x: 0, y: 0, width: 1280, height: 720, quantizerOffset: 0)])
    }
}

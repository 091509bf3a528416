// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// A clip of computed pictures. It uses integer arithmetic only, so that every machine produces the same pictures.
///
/// Motion is defined in picture widths or heights per second, so a clip shows the same content at every size and frame
/// rate. The code values have 10 bits; with 8 bits, the lower two are dropped.
package struct GeneratedClip: Sendable, Hashable {
    /// The content of the pictures.
    package let content: ClipContent
    /// The width and height, both even.
    package let size: BenchmarkSize
    /// Frames per second.
    package let frameRate: Rational
    /// The bit depth, 8 or 10.
    package let bitDepth: Int

    /// BT.709, limited range.
    package static let color = ColorDescription.bt709

    /// Creates a clip.
    ///
    /// - Throws: `invalidArgument` for a size that is odd or below 16, a frame rate that is not positive, or a bit
    ///   depth other than 8 and 10.
    package init(
        _ content: ClipContent,
        size: BenchmarkSize,
        frameRate: Rational,
        bitDepth: Int
    ) throws(MediaError) {
        let isEven = size.width % 2 == 0 && size.height % 2 == 0
        guard isEven, size.width >= 16, size.height >= 16 else {
            throw MediaError(
                .invalidArgument,
                "a generated clip cannot have this size",
                given: size.text,
                allowed: "even numbers from 16"
            )
        }
        guard frameRate.isPositive else {
            throw MediaError(.invalidArgument, "a frame rate", given: "\(frameRate)", allowed: "above zero")
        }
        guard bitDepth == 8 || bitDepth == 10 else {
            throw MediaError(.invalidArgument, "a bit depth", given: "\(bitDepth)", allowed: "8, 10")
        }
        self.content = content
        self.size = size
        self.frameRate = frameRate
        self.bitDepth = bitDepth
    }

    /// The description of each picture: I420 with 8 bits, P010 with 10 bits.
    package var pictureDescription: PixelBuffer.Description {
        PixelBuffer.Description(
            format: bitDepth == 8 ? .i420 : .p010,
            width: size.width,
            height: size.height,
            color: Self.color
        )
    }

    /// Computes a picture.
    ///
    /// - Parameter frame: The frame number, from 0.
    /// - Throws: `outOfMemory`, `invalidArgument` for a size out of range.
    package func picture(_ frame: Int) throws(MediaError) -> PixelBuffer {
        let buffer = try PixelBuffer(pictureDescription)
        var canvas = Canvas(width: size.width, height: size.height)
        draw(frame, on: &canvas)
        try canvas.store(in: buffer)
        return buffer
    }

    private func draw(_ frame: Int, on canvas: inout Canvas) {
        let moment = ClipMoment(frame: frame, frameRate: frameRate)
        let whole = CanvasArea(x: 0, y: 0, width: size.width, height: size.height)
        switch content {
        case .chart: MovingChart(seed: 0).draw(on: &canvas, in: whole, at: moment)
        case .noise: Noise(amplitude: nil).draw(on: &canvas, in: whole, at: moment)
        case .gradient: Gradient().draw(on: &canvas, in: whole, at: moment)
        case .text: ScrollingText(seed: 0).draw(on: &canvas, in: whole, at: moment)
        case .mixed: drawMixed(on: &canvas, at: moment)
        }
    }

    /// Draws four kinds of content in the four quarters of the picture, which change places in a cut every two seconds.
    private func drawMixed(on canvas: inout Canvas, at moment: ClipMoment) {
        let scene = moment.count(perSecond: 1) / 2
        let (left, top) = (size.width / 4 * 2, size.height / 4 * 2)
        let quarters = [
            CanvasArea(x: 0, y: 0, width: left, height: top),
            CanvasArea(x: left, y: 0, width: size.width - left, height: top),
            CanvasArea(x: 0, y: top, width: left, height: size.height - top),
            CanvasArea(x: left, y: top, width: size.width - left, height: size.height - top),
        ]
        for (index, area) in quarters.enumerated() {
            switch (index + scene) % 4 {
            case 0: MovingChart(seed: scene).draw(on: &canvas, in: area, at: moment)
            case 1: ScrollingText(seed: scene).draw(on: &canvas, in: area, at: moment)
            case 2: Gradient().draw(on: &canvas, in: area, at: moment)
            // As weak as film grain; otherwise, it would take nearly all bits.
            default: Noise(amplitude: 40).draw(on: &canvas, in: area, at: moment)
            }
        }
    }
}

/// A moment of a clip.
struct ClipMoment {
    let frame: Int
    let frameRate: Rational

    /// Returns the distance covered at a speed in units per second, rounded down.
    func count(perSecond units: Int) -> Int {
        frame * units * Int(frameRate.denominator) / Int(frameRate.numerator)
    }
}

/// Returns pseudo-random numbers that are the same on all machines (the finaliser of SplitMix64).
func scatter(_ first: Int, _ second: Int = 0, _ third: Int = 0) -> UInt64 {
    var value = UInt64(truncatingIfNeeded: first) &* 0x9E37_79B9_7F4A_7C15
    value ^= UInt64(truncatingIfNeeded: second) &* 0xC2B2_AE3D_27D4_EB4F
    value ^= UInt64(truncatingIfNeeded: third) &* 0x1656_67B1_9E37_79F9
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
}

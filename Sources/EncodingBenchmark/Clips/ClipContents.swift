// SPDX-License-Identifier: GPL-2.0-or-later

/// A panning test chart: checks, lines as fine as one sample, rings, colour bars and slanted edges.
///
/// It moves by quarters of a sample, so that an encoder must interpolate as in filmed pictures.
struct MovingChart {
    /// Selects the part of the chart that is shown first.
    let seed: Int

    func draw(on canvas: inout Canvas, in area: CanvasArea, at moment: ClipMoment) {
        let side = max(16, area.height / 9 * 2)
        let right = moment.count(perSecond: area.width * 4 / 6) + seed * 977
        let down = moment.count(perSecond: area.height * 4 / 14) + seed * 641
        canvas.setLuma(in: area) { x, y in Self.luma(4 * x + right, 4 * y + down, side: 4 * side) }
        canvas.setChroma(in: area) { x, y in Self.chroma(4 * x + right, 4 * y + down, side: 4 * side) }
    }

    /// Returns the field of the chart at a position, and the position within the field.
    ///
    /// - Parameter side: The side of a field in quarters of a sample, like all positions.
    private static func field(_ x: Int, _ y: Int, side: Int) -> (number: UInt64, x: Int, y: Int) {
        (scatter(x / side, y / side, 1), x % side, y % side)
    }

    private static func luma(_ x: Int, _ y: Int, side: Int) -> Int {
        let (number, x, y) = field(x, y, side: side)
        switch number % 8 {
        case 0: return x / 32 % 2 == y / 32 % 2 ? 180 : 820
        // Lines with a period of 2 samples or more.
        case 1: return wave(x, period: 8 + 4 * (y * 6 / side))
        case 2: return wave(y, period: 8 + 4 * (x * 6 / side))
        case 3:
            let (fromX, fromY) = (x - side / 2, y - side / 2)
            // A radius would require a square root; its square produces rings that become finer outwards.
            return wave((fromX * fromX + fromY * fromY) / max(side / 24, 1), period: 64)
        case 4: return 128 + 700 * (x * 7 / side) / 7
        case 5: return 3 * x > 2 * y + side / 4 ? 860 : 150
        case 6: return 200 + (x + y) * 560 / (2 * side)
        default: return 300 + Int((number >> 8) % 5) * 120
        }
    }

    private static func chroma(_ x: Int, _ y: Int, side: Int) -> (cb: Int, cr: Int) {
        let (number, x, y) = field(x, y, side: side)
        switch number % 8 {
        case 4:
            let bar = scatter(x * 7 / side, 2)
            return (256 + Int(bar % 513), 256 + Int((bar >> 16) % 513))
        case 5: return 3 * x > 2 * y + side / 4 ? (420, 600) : (640, 400)
        case 7: return (384 + Int((number >> 16) % 257), 384 + Int((number >> 32) % 257))
        default: return (512, 512)
        }
    }

    /// Returns a triangle wave from dark to bright and back.
    private static func wave(_ place: Int, period: Int) -> Int {
        let phase = place % period * 2
        return 160 + (phase < period ? phase : 2 * period - phase) * 680 / period
    }
}

/// Noise that is different in every picture.
struct Noise {
    /// The maximum distance of code values from the middle; `nil` for all limited-range code values with equal
    /// frequency.
    let amplitude: Int?

    func draw(on canvas: inout Canvas, in area: CanvasArea, at moment: ClipMoment) {
        let frame = moment.frame
        let amplitude = amplitude
        canvas.setLuma(in: area) { x, y in
            let number = scatter(x, y, 4 * frame)
            return amplitude.map { 502 - $0 + Int(number % UInt64(2 * $0 + 1)) } ?? 64 + Int(number % 877)
        }
        canvas.setChroma(in: area) { x, y in
            let number = scatter(x, y, 4 * frame + 1)
            let (first, second) = (number & 0xFFFF_FFFF, number >> 32)
            if let amplitude {
                let count = UInt64(amplitude + 1)
                return (512 - amplitude / 2 + Int(first % count), 512 - amplitude / 2 + Int(second % count))
            }
            return (64 + Int(first % 897), 64 + Int(second % 897))
        }
    }
}

/// A slow change of brightness and colour across the picture, in the finest possible steps.
struct Gradient {
    func draw(on canvas: inout Canvas, in area: CanvasArea, at moment: ClipMoment) {
        let (width, height) = (area.width, area.height)
        // In 65536ths of a full cycle, which takes 20 seconds.
        let phase = moment.count(perSecond: 65536 / 20)
        canvas.setLuma(in: area) { x, y in
            150 + Self.thereAndBack(x * 32768 / width + y * 16384 / height + phase) * 650 / 32768
        }
        canvas.setChroma(in: area) { x, y in
            (
                400 + Self.thereAndBack(x * 32768 / width + phase) * 224 / 32768,
                400 + Self.thereAndBack(y * 32768 / height + 2 * phase) * 224 / 32768
            )
        }
    }

    /// Returns a value that rises from 0 to 32768 and falls again.
    private static func thereAndBack(_ place: Int) -> Int {
        let place = place % 65536
        return place < 32768 ? place : 65536 - place
    }
}

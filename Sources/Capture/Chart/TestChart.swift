// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A moving test chart: colour bars, a bar that moves, and a white square that flashes for the first tenth of every second
/// of `CLOCK_MONOTONIC`, when the test tone beeps.
public final class TestChart: PictureDevice {
    /// What the chart looks like.
    public struct Request: Sendable, Hashable {
        /// The width in luma samples, 16 to 8192, even.
        public var width = 1280
        /// The height in luma samples, 16 to 8192, even.
        public var height = 720
        /// The frame rate in frames per second, 1 to 240.
        public var frameRate = Rational(30)

        /// Makes the default request.
        public init() {}
    }

    /// The options of an address of the kind `test`.
    package static let options = ["size", "rate"]

    /// The pictures of the chart.
    public let stream: PictureStream
    private let request: Request
    private let stop: StopSignal
    private let start: MediaTime
    private let bars: [[UInt8]]
    private var number: Int64 = 0

    /// Makes a chart.
    ///
    /// - Throws: `invalidArgument` for a size or a rate out of range.
    public init(_ request: Request, stop: StopSignal) throws(MediaError) {
        let sizes = 16...8192
        guard sizes.contains(request.width), sizes.contains(request.height), request.width % 2 == 0,
            request.height % 2 == 0
        else {
            throw MediaError(
                .invalidArgument,
                "the size of the test chart is not valid",
                given: "\(request.width)x\(request.height)",
                allowed: "even, 16x16 to 8192x8192"
            )
        }
        (self.request, self.stop) = (request, stop)
        stream = PictureStream(
            width: request.width,
            height: request.height,
            frameRate: request.frameRate,
            format: "NV12"
        )
        start = MonotonicClock.now
        bars = Self.makeBars(width: request.width)
    }

    /// Waits until the next picture is due.
    ///
    /// - Throws: `cancelled` after the stop signal; `outOfMemory`.
    public func read() throws(MediaError) -> CapturedPicture {
        var lost = 0
        var due = time(of: number)
        let now = MonotonicClock.now
        // A reader that was away does not get the pictures that it has missed.
        while time(of: number + 1) < now {
            number += 1
            lost += 1
            due = time(of: number)
        }
        let wait = (due - MonotonicClock.now).seconds * 1000
        if wait > 0 { try stop.wait(for: [], until: Int32(min(wait.rounded(.up), 10_000))) }
        if stop.isStopped { throw StopSignal.stopped }
        let picture = try draw(at: due)
        number += 1
        return CapturedPicture(picture, time: due, lostBefore: lost)
    }

    private func time(of number: Int64) -> MediaTime {
        let rate = request.frameRate
        let sinceStart = MediaTime.rational(
            number,
            numerator: Int64(rate.denominator),
            denominator: Int64(rate.numerator)
        )
        return (start + sinceStart).converted(to: 1_000_000_000)
    }

    // MARK: - Drawing

    /// 75 % bars of BT.709 in limited range: white, yellow, cyan, green, magenta, red, blue.
    private static let colors: [(y: UInt8, cb: UInt8, cr: UInt8)] = [
        (180, 128, 128), (168, 44, 136), (145, 147, 44), (134, 63, 52), (63, 193, 204), (51, 109, 212), (28, 212, 120),
    ]

    /// One row of luma and one of chroma.
    private static func makeBars(width: Int) -> [[UInt8]] {
        let luma = (0..<width).map { colors[$0 * colors.count / width].y }
        let chroma = (0..<width / 2).flatMap { column -> [UInt8] in
            let color = colors[column * 2 * colors.count / width]
            return [color.cb, color.cr]
        }
        return [luma, chroma]
    }

    private func draw(at time: MediaTime) throws(MediaError) -> PixelBuffer {
        let picture = try PixelBuffer(
            .init(
                format: .nv12,
                width: request.width,
                height: request.height,
                color: ColorDescription(primaries: .bt709, transfer: .bt709, matrix: .bt709, range: .limited)
            )
        )
        let (width, height) = (request.width, request.height)
        let side = max(min(width, height) / 8, 2) & ~1
        let isFlashing = Self.flashes(at: time)
        let position = Int(Double(width - side) * Self.phase(of: time)) & ~1
        try picture.withPlanes { planes in
            for (index, plane) in planes.enumerated() {
                let rows = index == 0 ? height : height / 2
                let scale = index == 0 ? 1 : 2
                for row in 0..<rows {
                    let line = plane.baseAddress + row * plane.bytesPerRow
                    bars[index].withUnsafeBytes { bytes in
                        if let base = bytes.baseAddress { line.copyMemory(from: base, byteCount: bytes.count) }
                    }
                    let y = row * scale
                    if y >= height - side {
                        Self.fill(line, at: position, side, index == 0 ? 16 : 128)
                    } else if y < 2 * side, isFlashing {
                        Self.fill(line, at: 0, 2 * side, index == 0 ? 235 : 128)
                    } else if y < 2 * side {
                        Self.fill(line, at: 0, 2 * side, index == 0 ? 16 : 128)
                    }
                }
            }
        }
        return picture
    }

    private static func fill(_ line: UnsafeMutableRawPointer, at offset: Int, _ count: Int, _ value: UInt8) {
        line.advanced(by: offset).initializeMemory(as: UInt8.self, repeating: value, count: count)
    }

    /// Whether the square is white: in the first tenth of a second.
    package static func flashes(at time: MediaTime) -> Bool { fraction(of: time, period: 1) < 0.1 }

    /// The position of the moving bar, from 0 to 1 in four seconds.
    private static func phase(of time: MediaTime) -> Double { fraction(of: time, period: 4) / 4 }

    private static func fraction(of time: MediaTime, period: Int64) -> Double {
        let ticks = time.converted(to: 1_000_000_000).value
        return Double(ticks % (period * 1_000_000_000)) / 1e9
    }
}

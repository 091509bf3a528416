// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
public import MediaTypes

/// The result of encoding a clip at one rate.
public struct RateQualityPoint: Sendable, Hashable {
    /// The bit rate, in any unit that both curves share; above zero.
    public var rate: Double
    /// The quality, larger is better: PSNR in decibels, SSIM, VMAF.
    public var quality: Double

    /// Creates a point.
    public init(rate: Double, quality: Double) {
        self.rate = rate
        self.quality = quality
    }
}

/// The mean distance of two rate-quality curves, according to G. Bjøntegaard (VCEG-M33, VCEG-AI11).
///
/// Both curves are interpolated with the logarithm of the rate as one axis, and the area between them is divided by the
/// length of their common range. BD-rate uses a common range of quality: it is the difference in rate, in per cent,
/// that the tested curve needs for the same quality; negative is better. BD-PSNR, BD-SSIM and BD-VMAF use a common
/// range of rates: they are the difference in quality, in the unit of the points, at the same rate; positive is better.
///
/// The numbers are those of the Python package `bjontegaard` for the same method. Unlike it, this type refuses curves
/// for which a number would be meaningless: with fewer than four points, not monotonic, or without a common range.
public struct BjontegaardDelta: Sendable, Hashable {
    /// The interpolation between the points.
    public enum Method: String, Sendable, Hashable, CaseIterable {
        /// Akima's piecewise cubic: smooth, and a point affects the curve only nearby. The choice of Herglotz and
        /// others ("The Bjøntegaard Bible", 2023), the authors of that package, and the default here.
        case akima
        /// Piecewise cubic and monotone (PCHIP): used by JVET's and AOM's common test conditions.
        case pchip
        /// One cubic polynomial for all points: the original of 2001, for comparison with old papers. It may overshoot.
        case cubic
    }

    /// The mean distance: per cent for rates, the unit of quality otherwise.
    public let value: Double
    /// The common part of the combined range of both curves, 0...1. Below ``sufficientOverlap``, the number reveals
    /// little about the rest of the curves.
    public let overlap: Double
    /// The interpolation.
    public let method: Method

    /// The overlap at which two curves share enough of their range; below it, `bjontegaard` warns.
    public static let sufficientOverlap = 0.75
    /// The minimum number of points of a curve.
    public static let fewestPoints = 4

    /// Returns the difference in rate that a curve needs compared with another for the same quality, in per cent.
    ///
    /// - Parameters:
    ///   - test: The points of the tested encoder, in any order.
    ///   - anchor: The points of the encoder that it is compared with.
    ///   - method: The interpolation.
    /// - Throws: `invalidArgument` with the points, if one of the curves has fewer than four points, a rate that is not
    ///   positive, an infinite quality (such as the PSNR of equal pictures), or a quality that does not rise with the
    ///   rate; or if the curves have no common range.
    public static func rate(
        of test: [RateQualityPoint],
        against anchor: [RateQualityPoint],
        method: Method = .akima
    ) throws(MediaError) -> BjontegaardDelta {
        let (mean, overlap) = try distance(of: test, from: anchor, over: .quality, method)
        return BjontegaardDelta(value: (pow(10, mean) - 1) * 100, overlap: overlap, method: method)
    }

    /// Returns the difference in quality of a curve compared with another at the same rate, in the unit of the points.
    ///
    /// - Throws: As ``rate(of:against:method:)``.
    public static func quality(
        of test: [RateQualityPoint],
        against anchor: [RateQualityPoint],
        method: Method = .akima
    ) throws(MediaError) -> BjontegaardDelta {
        let (mean, overlap) = try distance(of: test, from: anchor, over: .rate, method)
        return BjontegaardDelta(value: mean, overlap: overlap, method: method)
    }

    /// The axis whose range both curves must share.
    private enum Axis: String {
        case quality, rate

        /// Returns a position on the axis as text for people.
        func text(_ place: Double) -> String { "\(self == .rate ? pow(10, place) : place)" }
    }

    private typealias Axes = (places: [Double], values: [Double])

    /// Returns the mean difference of two curves over their common range.
    private static func distance(
        of tested: [RateQualityPoint],
        from reference: [RateQualityPoint],
        over axis: Axis,
        _ method: Method
    ) throws(MediaError) -> (mean: Double, overlap: Double) {
        func axes(_ curve: Curve) -> Axes {
            axis == .rate ? (curve.logarithms, curve.qualities) : (curve.qualities, curve.logarithms)
        }
        let test = axes(try Curve(tested, "the tested curve"))
        let anchor = axes(try Curve(reference, "the anchor"))
        let (first, second) = (anchor.places, test.places)
        let low = max(first[0], second[0])
        let high = min(first[first.count - 1], second[second.count - 1])
        guard low < high else {
            func range(_ places: [Double]) -> String {
                "\(axis.text(places[0])) to \(axis.text(places[places.count - 1]))"
            }
            throw MediaError(
                .invalidArgument,
                "the curves share no range of \(axis.rawValue)",
                given: "\(range(second)) against \(range(first))",
                allowed: "ranges that overlap"
            )
        }
        let whole = max(first[first.count - 1], second[second.count - 1]) - min(first[0], second[0])
        let area = integral(of: test, from: low, to: high, method) - integral(of: anchor, from: low, to: high, method)
        return (area / (high - low), (high - low) / whole)
    }

    private static func integral(of curve: Axes, from low: Double, to high: Double, _ method: Method) -> Double {
        switch method {
        case .akima: PiecewiseCubic.akima(curve.places, curve.values).integral(from: low, to: high)
        case .pchip: PiecewiseCubic.monotone(curve.places, curve.values).integral(from: low, to: high)
        case .cubic: CubicFit(curve.places, curve.values).integral(from: low, to: high)
        }
    }
}

/// The points of a curve, by ascending rate.
private struct Curve {
    let logarithms: [Double]
    let qualities: [Double]

    /// - Parameter name: The name of the curve in errors.
    init(_ points: [RateQualityPoint], _ name: String) throws(MediaError) {
        guard points.count >= BjontegaardDelta.fewestPoints else {
            throw MediaError(
                .invalidArgument,
                "\(name) has too few points",
                given: "\(points.count)",
                allowed: "at least \(BjontegaardDelta.fewestPoints)"
            )
        }
        if let bad = points.first(where: { !($0.rate > 0 && $0.rate.isFinite && $0.quality.isFinite) }) {
            throw MediaError(
                .invalidArgument,
                "\(name) has an invalid point",
                given: bad.text,
                allowed: "rates above 0 and finite qualities"
            )
        }
        let sorted = points.sorted { ($0.rate, $0.quality) < ($1.rate, $1.quality) }
        let falls = zip(sorted, sorted.dropFirst()).filter { $0.rate == $1.rate || $0.quality >= $1.quality }
        guard falls.isEmpty else {
            throw MediaError(
                .invalidArgument,
                "quality does not rise with the bitrate in \(name)",
                given: falls.map { "\($0.text), then \($1.text)" }.joined(separator: "; "),
                allowed: "higher quality at every higher bitrate"
            )
        }
        logarithms = sorted.map { log10($0.rate) }
        qualities = sorted.map(\.quality)
    }
}

extension RateQualityPoint {
    fileprivate var text: String { "quality \(quality) at rate \(rate)" }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
public import MediaTypes

/// What an encoder made of a clip at one rate.
public struct RateQualityPoint: Sendable, Hashable {
    /// The bit rate, in any unit that both curves share; above zero.
    public var rate: Double
    /// The quality, larger is better: PSNR in decibels, SSIM, VMAF.
    public var quality: Double

    /// States a point.
    public init(rate: Double, quality: Double) {
        self.rate = rate
        self.quality = quality
    }
}

/// The mean distance of two curves of quality over rate, after G. Bjøntegaard (VCEG-M33, VCEG-AI11).
///
/// Both curves are drawn through their points with the logarithm of the rate as one axis, and the area between them is
/// divided by the length of the part that they share. BD-rate shares a range of quality: it is how much more rate, in
/// per cent, the tested curve needs for the same quality; below zero is better. BD-PSNR, BD-SSIM and BD-VMAF share a range
/// of rates: it is how much more quality, in the unit of the points, it has at the same rate; above zero is better.
///
/// The numbers are those of the Python package `bjontegaard` for the same method. Unlike it, curves about which a number
/// would mean nothing are refused: with fewer than four points, not monotonic, or without a common range.
public struct BjontegaardDelta: Sendable, Hashable {
    /// How the curve between the points is drawn.
    public enum Method: String, Sendable, Hashable, CaseIterable {
        /// Akima's piecewise cubic: smooth, and a point does not bend the curve far from it. The choice of Herglotz and
        /// others ("The Bjøntegaard Bible", 2023), whose package that is, and the default here.
        case akima
        /// Piecewise cubic and monotone (PCHIP): what JVET's and AOM's common test conditions use.
        case pchip
        /// One cubic polynomial for all points: the original of 2001, here for comparison with old papers. It may overshoot.
        case cubic
    }

    /// The mean distance: per cent for rates, the unit of quality otherwise.
    public let value: Double
    /// The part of the range of both curves together that both have, 0...1. Below ``sufficientOverlap`` the number says
    /// little about where the curves are apart.
    public let overlap: Double
    /// How the curves were drawn.
    public let method: Method

    /// From where on two curves share enough of their range; the threshold at which `bjontegaard` begins to warn.
    public static let sufficientOverlap = 0.75
    /// The fewest points of a curve.
    public static let fewestPoints = 4

    /// How much more rate a curve needs than another for the same quality, in per cent.
    ///
    /// - Parameters:
    ///   - test: The points of the tested encoder, in any order.
    ///   - anchor: Those of the encoder that it is compared with.
    ///   - method: How the curves go from point to point.
    /// - Throws: `invalidArgument` naming the points, if one of the curves has fewer than four points, a rate that is not
    ///   positive, a quality that is infinite (as the PSNR of equal pictures is), or does not rise with the rate; or if the
    ///   curves share no range.
    public static func rate(
        of test: [RateQualityPoint],
        against anchor: [RateQualityPoint],
        method: Method = .akima
    ) throws(MediaError) -> BjontegaardDelta {
        let (mean, overlap) = try distance(of: test, from: anchor, over: .quality, method)
        return BjontegaardDelta(value: (pow(10, mean) - 1) * 100, overlap: overlap, method: method)
    }

    /// How much more quality a curve has than another at the same rate, in the unit of the points.
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

    /// What both curves have to share.
    private enum Axis: String {
        case quality, rate

        /// What people call a place on it.
        func text(_ place: Double) -> String { "\(self == .rate ? pow(10, place) : place)" }
    }

    private typealias Axes = (places: [Double], values: [Double])

    /// The mean of a curve minus another over the range that both have.
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

/// Points that make a curve, by ascending rate.
private struct Curve {
    let logarithms: [Double]
    let qualities: [Double]

    /// - Parameter name: What errors call the curve.
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

// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

extension V4L2Camera {
    /// Chooses how to use a camera. First comes the nearest size that is neither narrower nor lower than the wanted one
    /// and at which some format reaches the frame rate, then the lowest frame rate that is enough, then the format that
    /// costs least.
    ///
    /// - Throws: `invalidArgument` for a size or a frame rate that is not positive; `unsupported` if the camera has no
    ///   such mode, with what it offers.
    public static func mode(for request: Request, of device: Device) throws(MediaError) -> Mode {
        try ModeChoice(request, device).mode()
    }
}

/// The choice of a mode.
private struct ModeChoice {
    private static let usualSize = V4L2Camera.Request.Size(1280, 720)
    private static let usualRate = Rational(30)

    /// A mode that the camera offers.
    private struct Candidate {
        var code: V4L2Camera.FormatCode
        /// The position of the code in the order of costs.
        var cost: Int
        var width: Int
        var height: Int
        /// The frame rate nearest to the wanted one that is enough, else the highest; `nil` if unknown.
        var rate: Rational?

        var area: Int { width * height }

        func reaches(_ wanted: Rational) -> Bool { rate.map { ModeChoice.isEnough($0, wanted) } ?? true }
    }

    private let request: V4L2Camera.Request
    private let device: V4L2Camera.Device
    private let size: V4L2Camera.Request.Size
    private let rate: Rational
    private let offers: [V4L2Camera.Format]

    init(_ request: V4L2Camera.Request, _ device: V4L2Camera.Device) throws(MediaError) {
        self.request = request
        self.device = device
        size = request.size ?? Self.usualSize
        rate = request.frameRate ?? Self.usualRate
        let most = PixelBuffer.maximumDimension
        guard (1...most).contains(size.width), (1...most).contains(size.height) else {
            throw MediaError(
                .invalidArgument,
                "the size for a camera is out of range",
                given: "\(size)",
                allowed: "1x1 to \(most)x\(most)"
            )
        }
        guard rate.isPositive else {
            throw MediaError(.invalidArgument, "the frame rate for a camera is not positive", given: "\(rate)")
        }
        let codes = request.format.codes
        offers = device.formats.filter { codes.contains($0.code) }
    }

    func mode() throws(MediaError) -> V4L2Camera.Mode {
        guard !offers.isEmpty else { throw failure("the camera has none of the wanted formats") }
        var candidates = candidates(notBelow: size)
        if candidates.isEmpty, request.size == nil { candidates = largest() }
        guard !candidates.isEmpty else { throw failure("the camera has no size that is large enough") }
        var usable = candidates.filter { $0.reaches(rate) }
        if usable.isEmpty, request.frameRate == nil { usable = candidates }
        guard let best = usable.min(by: isBetter) else {
            throw failure("the camera does not reach the frame rate at that size")
        }
        return V4L2Camera.Mode(
            code: best.code,
            width: best.width,
            height: best.height,
            frameRate: best.rate,
            reason: reason(for: best, among: candidates)
        )
    }

    private func isBetter(_ one: Candidate, _ other: Candidate) -> Bool {
        if one.area != other.area { return one.area < other.area }
        if one.width != other.width { return one.width < other.width }
        let (oneExcess, otherExcess) = (excess(one.rate), excess(other.rate))
        if oneExcess != otherExcess { return oneExcess < otherExcess }
        return one.cost < other.cost
    }

    /// How far a frame rate is from the wanted one: none within 1 %, more for one that is not enough than for any
    /// other.
    private func excess(_ rate: Rational?) -> Double {
        guard let rate else { return 1e9 }
        let ratio = rate.doubleValue / self.rate.doubleValue
        if !Self.isEnough(rate, self.rate) { return 2e9 - ratio }
        return ratio <= 1.01 ? 0 : ratio
    }

    fileprivate static func isEnough(_ rate: Rational, _ wanted: Rational) -> Bool {
        rate.doubleValue >= wanted.doubleValue * 0.99
    }

    // MARK: - Candidates

    private func candidates(notBelow size: V4L2Camera.Request.Size) -> [Candidate] {
        offered { sizes in
            guard let width = Self.least(notBelow: size.width, sizes.width, step: sizes.widthStep),
                let height = Self.least(notBelow: size.height, sizes.height, step: sizes.heightStep)
            else { return nil }
            return (width, height)
        }
    }

    private func largest() -> [Candidate] {
        let all = offered { ($0.width.upperBound, $0.height.upperBound) }
        let area = all.map(\.area).max() ?? 0
        return all.filter { $0.area == area }
    }

    private func offered(_ size: (V4L2Camera.Sizes) -> (width: Int, height: Int)?) -> [Candidate] {
        let codes = request.format.codes
        return offers.flatMap { format in
            format.sizes.compactMap { sizes in
                guard let size = size(sizes) else { return nil }
                return Candidate(
                    code: format.code,
                    cost: codes.firstIndex(of: format.code) ?? codes.count,
                    width: size.width,
                    height: size.height,
                    rate: nearest(sizes.rates)
                )
            }
        }
    }

    private static func least(notBelow wanted: Int, _ range: ClosedRange<Int>, step: Int) -> Int? {
        let steps = max(0, wanted - range.lowerBound + step - 1) / step
        let value = range.lowerBound + steps * step
        return value <= range.upperBound ? value : nil
    }

    private func nearest(_ rates: V4L2Camera.Rates) -> Rational? {
        switch rates {
        case .unknown: nil
        case .list(let rates):
            rates.filter { Self.isEnough($0, rate) }.min { $0.doubleValue < $1.doubleValue }
                ?? rates.max { $0.doubleValue < $1.doubleValue }
        case .range(let least, let highest):
            rate.doubleValue < least.doubleValue ? least : rate.doubleValue > highest.doubleValue ? highest : rate
        }
    }

    // MARK: - Texts

    private func reason(for best: Candidate, among candidates: [Candidate]) -> String {
        var parts: [String] = []
        let chosen = V4L2Camera.Request.Size(best.width, best.height)
        if chosen != size {
            let isLess = best.width < size.width || best.height < size.height
            parts.append(
                isLess
                    ? "\(chosen) is the largest size of the camera"
                    : "\(chosen) is the nearest size that is not below \(size)"
            )
        }
        let others = candidates.filter { $0.area == best.area && $0.width == best.width && $0.code != best.code }
        let slower = others.filter { $0.cost < best.cost && excess($0.rate) > excess(best.rate) }
        let dearer = others.filter { $0.cost > best.cost && excess($0.rate) <= excess(best.rate) }
        if !slower.isEmpty {
            let rates = slower.map { "\($0.code) has \($0.rate.map { "\($0) fps" } ?? "an unknown frame rate")" }
            parts.append("\(best.code) is nearest to \(rate) fps there: \(Readable.list(rates))")
        } else if !dearer.isEmpty {
            parts.append("\(best.code) costs less than \(Readable.list(dearer.map(\.code.description)))")
        }
        if let offered = best.rate, !Self.isEnough(offered, rate) {
            parts.append("\(offered) fps is the highest frame rate there")
        }
        return parts.isEmpty ? "the camera has what was asked for" : parts.joined(separator: "; ")
    }

    private func failure(_ message: String) -> MediaError {
        var given: [String] = []
        if let size = request.size { given.append("\(size)") }
        if let rate = request.frameRate { given.append("\(rate) fps") }
        given.append(request.format == .auto ? "any format" : request.format.rawValue)
        let shown = (offers.isEmpty ? device.formats : offers).map { format in
            "\(format.code) \(format.sizes.map(\.description).joined(separator: ", "))"
        }
        return MediaError(
            .unsupported,
            message,
            given: given.joined(separator: ", "),
            allowed: shown.isEmpty ? "no format" : shown.joined(separator: "; ")
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The size of a picture and of its pixels. A pixel aspect ratio that is not positive counts as 1:1.
struct PictureShape: Hashable {
    let width: Int
    let height: Int
    let pixelAspectRatio: Rational

    init(_ width: Int, _ height: Int, _ pixelAspectRatio: Rational = .one) {
        self.width = width
        self.height = height
        self.pixelAspectRatio = pixelAspectRatio.isPositive ? pixelAspectRatio : .one
    }

    var area: PictureArea { PictureArea(width: width, height: height) }
    var displayAspect: Double { Double(width) * pixelAspectRatio.doubleValue / Double(height) }
}

/// The part of the source that is used, and its position in the output.
///
/// Positions are even, and so are sizes unless the whole source is used. Areas thus begin at a chroma sample, and a bar
/// or a cropped part may be up to two samples wider on one side than on the other.
struct PictureGeometry: Hashable {
    /// The visible part of the source.
    let source: PictureArea
    /// The part of the output that the source fills.
    let target: PictureArea
    /// Whether all samples keep their positions and their aspect ratio.
    let isIdentity: Bool

    init(source: PictureShape, output: PictureShape, scaling: ScalingMode) {
        // The display aspect ratio of the source, relative to that of the output.
        let relativeAspect = source.displayAspect / output.displayAspect
        var visible = source.area
        var target = output.area
        switch scaling {
        case .stretch:
            break
        case .letterbox where relativeAspect > 1:
            (target.y, target.height) = Self.centered(Double(output.height) / relativeAspect, of: output.height)
        case .letterbox:
            (target.x, target.width) = Self.centered(Double(output.width) * relativeAspect, of: output.width)
        case .aspectFill where relativeAspect > 1:
            (visible.x, visible.width) = Self.centered(Double(source.width) / relativeAspect, of: source.width)
        case .aspectFill:
            (visible.y, visible.height) = Self.centered(Double(source.height) * relativeAspect, of: source.height)
        }
        self.source = visible
        self.target = target
        isIdentity =
            source.area == output.area && source.pixelAspectRatio == output.pixelAspectRatio
            && visible == source.area && target == output.area
    }

    /// Returns an even position and the nearest even length, at least 2, of a part that is centred in a whole; the
    /// whole if the part is not shorter.
    private static func centered(_ part: Double, of whole: Int) -> (position: Int, length: Int) {
        let length = max(2, Int((min(part, Double(whole)) / 2).rounded()) * 2)
        guard length < whole, part < Double(whole) else { return (0, whole) }
        return ((whole - length + 1) / 4 * 2, length)
    }

    /// Returns the attachments of a source for the output: regions of interest cover the same content, enlarged to
    /// whole samples, and invisible ones are omitted.
    func moving(_ attachments: PixelAttachments) -> PixelAttachments {
        guard !isIdentity, !attachments.regionsOfInterest.isEmpty else { return attachments }
        var moved = attachments
        moved.regionsOfInterest = attachments.regionsOfInterest.compactMap(moving)
        return moved
    }

    private func moving(_ region: RegionOfInterest) -> RegionOfInterest? {
        let columns = Self.moved(
            region.x,
            region.width,
            from: (source.x, source.width),
            to: (target.x, target.width)
        )
        let rows = Self.moved(region.y, region.height, from: (source.y, source.height), to: (target.y, target.height))
        guard let columns, let rows else { return nil }
        return RegionOfInterest(
            x: columns.lowerBound,
            y: rows.lowerBound,
            width: columns.count,
            height: rows.count,
            quantizerOffset: region.quantizerOffset
        )
    }

    /// Returns the position of an interval of one axis after the part `from` has been scaled to `to`; `nil` if it is
    /// not visible.
    private static func moved(
        _ start: Int,
        _ length: Int,
        from: (start: Int, length: Int),
        to: (start: Int, length: Int)
    ) -> Range<Int>? {
        func position(_ offset: Double) -> Double {
            let inside = min(max(offset - Double(from.start), 0), Double(from.length))
            return Double(to.start) + inside * Double(to.length) / Double(from.length)
        }
        let lower = Int(position(Double(start)).rounded(.down))
        let upper = Int(position(Double(start) + Double(length)).rounded(.up))
        return lower < upper ? lower..<upper : nil
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import HardwareDisplay
internal import MediaTypes
internal import VAAPI

/// A test of a video processor: it converts a test card of flat colours, and the output is compared with the expected
/// values in the middle of every colour and of every bar around them.
struct ConversionProof {
    private let picture: PixelBuffer.Description
    private let conversion: PictureConversion

    /// The colours of the card, by row: red, green and blue from 0 to 1. Wrong matrices and ranges and swapped
    /// components produce other values.
    private static let colors: [(Double, Double, Double)] = [
        (0.9, 0.1, 0.1), (0.1, 0.8, 0.2), (0.1, 0.2, 0.9), (1, 1, 1),
        (0, 0, 0), (0.9, 0.8, 0.1), (0.1, 0.7, 0.8), (0.8, 0.2, 0.7),
        (0.5, 0.5, 0.5), (0.6, 0.3, 0.1), (0.2, 0.4, 0.1), (0.3, 0.2, 0.5),
    ]
    /// The tolerance for 8-bit samples, because processors round differently.
    private static let tolerance = 4.0

    /// - Parameters:
    ///   - picture: The picture format to convert.
    ///   - conversion: The conversion.
    init(_ picture: PixelBuffer.Description, _ conversion: PictureConversion) {
        self.picture = picture
        self.conversion = conversion
    }

    /// Runs the test.
    ///
    /// - Parameter targets: The surfaces that the processor writes for the encoder.
    /// - Throws: `conversionFailed` if the output is wrong or a call failed.
    func check(
        _ processor: Processor,
        _ display: borrowing Display,
        _ targets: SurfaceRequest
    ) throws(MediaError) {
        let order = try processor.capabilities.order(picture, conversion)
        let request = SurfaceRequest(
            width: picture.width,
            height: picture.height,
            renderTargetFormat: picture.format.renderTargetFormat,
            format: processor.capabilities.name(of: picture.format)
        )
        let wrong = try calling(.conversionFailed) { () throws(VAError) -> String? in
            let source = try display.makeSurfaces(1, request)[0]
            let target = try display.makeSurfaces(1, targets)[0]
            var upload = UploadState()
            try source.withWritablePlanes(&upload) { paint($0) }
            try processor.process(source, into: target, order)
            _ = try target.wait()
            return try target.withReadablePlanes { difference($0) }
        }
        if let wrong { throw MediaError(.conversionFailed, "the GPU converts pictures incorrectly", given: wrong) }
    }

    // MARK: - The test card

    /// The number of parts of the card in each direction, limited by the size before and after the conversion.
    private var grid: (columns: Int, rows: Int) {
        (
            max(1, min(4, min(conversion.source.width, conversion.target.width) / 16)),
            max(1, min(3, min(conversion.source.height, conversion.target.height) / 16))
        )
    }

    private func color(column: Int, row: Int) -> (Double, Double, Double) { Self.colors[row * 4 + column] }

    /// Returns the code values of a part in the source: luma and chroma, or red, green and blue.
    private func codes(column: Int, row: Int) -> [Double] {
        let (red, green, blue) = color(column: column, row: row)
        guard picture.format.isYCbCr else { return [red, green, blue].map { ($0 * 255).rounded() } }
        return space(of: picture).codes(red, green, blue).map { $0.rounded() }
    }

    /// Draws the first rows of each row of colours, and repeats them.
    private func paint(_ planes: WritablePlanes) {
        let (columns, rows) = grid
        let area = conversion.source
        var painted: [Int: Int] = [:]
        for y in stride(from: 0, to: picture.height, by: 2) {
            let row = min(max((y - area.y) * rows / area.height, 0), rows - 1)
            if let first = painted[row] {
                planes.repeatRows(of: picture, at: first, to: y)
                continue
            }
            painted[row] = y
            let cells = (0..<columns).map { codes(column: $0, row: row) }
            for x in 0..<picture.width {
                let column = min(max((x - area.x) * columns / area.width, 0), columns - 1)
                planes.set(cells[column], x: x, y: y)
                if y + 1 < picture.height { planes.set(cells[column], x: x, y: y + 1) }
            }
        }
    }

    // MARK: - The output

    /// Returns the luma and chroma values that a part of the card should become.
    private func expected(column: Int, row: Int) -> [Double] {
        let codes = codes(column: column, row: row)
        let target = space(of: conversion.result)
        guard picture.format.isYCbCr else {
            return target.codes(codes[0] / 255, codes[1] / 255, codes[2] / 255)
        }
        let source = space(of: picture)
        guard conversion.changesMatrix else { return target.codes(source.parts(codes)) }
        let (red, green, blue) = source.color(codes)
        return target.codes(red, green, blue)
    }

    /// Returns the error in a picture; `nil` if it is correct.
    private func difference(_ planes: WritablePlanes) -> String? {
        let (columns, rows) = grid
        let area = conversion.target
        for row in 0..<rows {
            for column in 0..<columns {
                let x = area.x + (2 * column + 1) * area.width / (2 * columns)
                let y = area.y + (2 * row + 1) * area.height / (2 * rows)
                if let wrong = difference(planes, x, y, expected(column: column, row: row)) { return wrong }
            }
        }
        let black = space(of: conversion.result).codes(0, 0, 0)
        for (x, y) in bars {
            if let wrong = difference(planes, x, y, black) { return wrong }
        }
        return nil
    }

    /// A position in the middle of each bar that is wide enough.
    private var bars: [(Int, Int)] {
        let (area, size) = (conversion.target, conversion.result)
        let (right, bottom) = (area.x + area.width, area.y + area.height)
        var places: [(Int, Int)] = []
        if area.x >= 4 { places.append((area.x / 2, size.height / 2)) }
        if size.width - right >= 4 { places.append(((right + size.width) / 2, size.height / 2)) }
        if area.y >= 4 { places.append((size.width / 2, area.y / 2)) }
        if size.height - bottom >= 4 { places.append((size.width / 2, (bottom + size.height) / 2)) }
        return places
    }

    private func difference(_ planes: WritablePlanes, _ x: Int, _ y: Int, _ expected: [Double]) -> String? {
        guard let found = planes.codes(x: x, y: y) else { return "the image is too small" }
        let scale = conversion.result.format.bitDepth > 8 ? 4.0 : 1
        let isRight = zip(found, expected).allSatisfy { abs($0 - $1) <= Self.tolerance * scale }
        if isRight { return nil }
        let wanted = expected.map { "\(Int($0.rounded()))" }.joined(separator: " ")
        return found.map { "\(Int($0))" }.joined(separator: " ") + " at \(x),\(y) instead of \(wanted)"
    }

    private func space(of picture: PixelBuffer.Description) -> CodeSpace {
        CodeSpace(
            weights: LumaWeights(picture.color.matrix) ?? LumaWeights(.bt709),
            isFullRange: picture.hasFullRange,
            bitDepth: picture.format.bitDepth
        )
    }
}

/// The code values of luma and chroma, and their meaning (H.273 8.3).
private struct CodeSpace {
    private let red: Double
    private let blue: Double
    private let lumaOffset: Double
    private let lumaSpan: Double
    private let chromaSpan: Double
    private let middle: Double

    init(weights: LumaWeights?, isFullRange: Bool, bitDepth: Int) {
        (red, blue) = (weights?.red ?? 0, weights?.blue ?? 0)
        let scale = bitDepth > 8 ? 4.0 : 1
        let peak = bitDepth > 8 ? 1023.0 : 255
        lumaOffset = isFullRange ? 0 : 16 * scale
        lumaSpan = isFullRange ? peak : 219 * scale
        chromaSpan = isFullRange ? peak : 224 * scale
        middle = 128 * scale
    }

    /// Returns the code values of a colour with components from 0 to 1.
    func codes(_ r: Double, _ g: Double, _ b: Double) -> [Double] {
        let luma = red * r + (1 - red - blue) * g + blue * b
        return codes((luma, (b - luma) / (2 * (1 - blue)), (r - luma) / (2 * (1 - red))))
    }

    func codes(_ parts: (luma: Double, cb: Double, cr: Double)) -> [Double] {
        [lumaOffset + parts.luma * lumaSpan, middle + parts.cb * chromaSpan, middle + parts.cr * chromaSpan]
    }

    /// Returns luma from 0 to 1 and chroma from -0.5 to 0.5.
    func parts(_ codes: [Double]) -> (luma: Double, cb: Double, cr: Double) {
        ((codes[0] - lumaOffset) / lumaSpan, (codes[1] - middle) / chromaSpan, (codes[2] - middle) / chromaSpan)
    }

    func color(_ codes: [Double]) -> (Double, Double, Double) {
        let (luma, cb, cr) = parts(codes)
        let (r, b) = (luma + 2 * (1 - red) * cr, luma + 2 * (1 - blue) * cb)
        return (r, (luma - red * r - blue * b) / (1 - red - blue), b)
    }
}

extension WritablePlanes {
    /// Copies two rows of a picture with their chroma.
    fileprivate func repeatRows(of picture: PixelBuffer.Description, at first: Int, to y: Int) {
        guard let base = bytes.baseAddress else { return }
        for (index, plane) in planes.enumerated() {
            guard let extent = picture.format.planeExtent(index, width: picture.width, height: picture.height) else {
                continue
            }
            let rowsOfTwo = index > 0 ? 1 : 2
            for row in 0..<rowsOfTwo {
                let (from, to) = (first * rowsOfTwo / 2 + row, y * rowsOfTwo / 2 + row)
                guard to < extent.rows, offset(index, to, extent.bytesPerRow - 1, 1) != nil else { continue }
                (base + plane.offset + to * plane.pitch)
                    .copyMemory(from: base + plane.offset + from * plane.pitch, byteCount: extent.bytesPerRow)
            }
        }
    }

    /// Writes one pixel with its shared chroma, but without alpha, which must not cause blending.
    fileprivate func set(_ codes: [Double], x: Int, y: Int) {
        let values = codes.map { UInt16(min(max($0, 0), 1023)) }
        switch format {
        case .nv12:
            put(UInt8(truncatingIfNeeded: values[0]), 0, y, x)
            put(UInt8(truncatingIfNeeded: values[1]), 1, y / 2, x / 2 * 2)
            put(UInt8(truncatingIfNeeded: values[2]), 1, y / 2, x / 2 * 2 + 1)
        case .p010:
            put((values[0] << 6).littleEndian, 0, y, 2 * x)
            put((values[1] << 6).littleEndian, 1, y / 2, x / 2 * 4)
            put((values[2] << 6).littleEndian, 1, y / 2, x / 2 * 4 + 2)
        case .yuy2:
            put(UInt8(truncatingIfNeeded: values[0]), 0, y, 2 * x)
            put(UInt8(truncatingIfNeeded: values[1]), 0, y, x / 2 * 4 + 1)
            put(UInt8(truncatingIfNeeded: values[2]), 0, y, x / 2 * 4 + 3)
        default:
            for (place, value) in [values[2], values[1], values[0], 0].enumerated() {
                put(UInt8(truncatingIfNeeded: value), 0, y, 4 * x + place)
            }
        }
    }

    /// Returns luma and chroma of one pixel; `nil` for formats other than NV12 and P010, and outside the memory.
    fileprivate func codes(x: Int, y: Int) -> [Double]? {
        switch format {
        case .nv12:
            let places: [(Int, Int, Int)] = [(0, y, x), (1, y / 2, x / 2 * 2), (1, y / 2, x / 2 * 2 + 1)]
            return all(places.map { get(UInt8.self, $0.0, $0.1, $0.2).map(Double.init) })
        case .p010:
            let places: [(Int, Int, Int)] = [(0, y, 2 * x), (1, y / 2, x / 2 * 4), (1, y / 2, x / 2 * 4 + 2)]
            return all(
                places.map { get(UInt16.self, $0.0, $0.1, $0.2).map { Double(UInt16(littleEndian: $0) >> 6) } }
            )
        default: return nil
        }
    }

    private func all(_ values: [Double?]) -> [Double]? {
        let found = values.compactMap(\.self)
        return found.count == values.count ? found : nil
    }

    private func put<Value: BitwiseCopyable>(_ value: Value, _ plane: Int, _ row: Int, _ byte: Int) {
        guard let offset = offset(plane, row, byte, MemoryLayout<Value>.size) else { return }
        bytes.storeBytes(of: value, toByteOffset: offset, as: Value.self)
    }

    private func get<Value: BitwiseCopyable>(_ type: Value.Type, _ plane: Int, _ row: Int, _ byte: Int) -> Value? {
        offset(plane, row, byte, MemoryLayout<Value>.size).map { bytes.loadUnaligned(fromByteOffset: $0, as: type) }
    }

    private func offset(_ plane: Int, _ row: Int, _ byte: Int, _ size: Int) -> Int? {
        guard planes.indices.contains(plane) else { return nil }
        let offset = planes[plane].offset + row * planes[plane].pitch + byte
        return offset >= 0 && offset + size <= bytes.count ? offset : nil
    }
}

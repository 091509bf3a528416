// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
package import Logging
package import MediaTypes
internal import VideoDecoding

/// Writes pictures of one small size: each to a file of its own, or several to a sheet.
///
/// All files get their names in ``finish(_:)``; without it, none is left. Used by one thread at a time.
package final class ThumbnailWriter {
    /// How thumbnails are placed on a sheet, row by row.
    package struct Grid: Sendable, Hashable {
        package var columns: Int
        package var rows: Int

        package init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }

        /// The thumbnails of a full sheet.
        package var capacity: Int { columns * rows }
    }

    /// Where a thumbnail is.
    package struct Place: Sendable, Hashable {
        /// The path of the file.
        package var path: String
        /// The position of its upper left corner in the file.
        package var (x, y): (Int, Int)
    }

    /// The size of every thumbnail, when there is one.
    package private(set) var size: (width: Int, height: Int)?
    /// The paths of the files so far.
    package private(set) var paths: [String] = []

    private let pattern: FileNamePattern
    private let grid: Grid?
    private let format: StillFormat
    private let width: Int?
    private let files: NumberedFiles
    private let log: LogRoute?
    private var converter: RGBConverter?
    private var encoder: StillEncoder?
    /// The thumbnails of the sheet that is not full.
    private var waiting: [FrameReference] = []
    private var count = 0

    /// The width of thumbnails unless another one is requested; that of the input if it is smaller.
    package static let (usualWidth, usualWidthOnSheets) = (320, 160)
    /// The longest side of a sheet, which every player can show.
    package static let longestSide = 16384

    /// Checks the output.
    ///
    /// - Parameters:
    ///   - pattern: The paths of the files.
    ///   - grid: How many thumbnails share a file; `nil` for one.
    ///   - width: The width of thumbnails; `nil` for the usual one.
    ///   - track: The path of a text file that comes with them.
    /// - Throws: `invalidArgument` if the files cannot be created.
    package init(
        _ pattern: FileNamePattern,
        _ grid: Grid?,
        _ format: StillFormat,
        width: Int?,
        track: String?,
        overwrite: Bool,
        inputPath: String,
        cancellation: Cancellation,
        abandonment: Cancellation,
        logger: Logger?
    ) throws(MediaError) {
        MediaLog.install()
        log = LogRoute(logger)
        (self.pattern, self.grid, self.format, self.width) = (pattern, grid, format, width)
        files = try NumberedFiles(
            pattern,
            overwrite: overwrite,
            inputPath: inputPath,
            cancellation: cancellation,
            abandonment: abandonment
        )
        if let track { try files.check(track) }
    }

    /// Writes an upright picture.
    ///
    /// - Returns: Where it will be.
    /// - Throws: `unsupported` if it cannot be converted, or a sheet would be too large; `inputOutput`.
    package func write(_ picture: PixelBuffer) throws(MediaError) -> Place {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        let size = if let known = self.size { known } else { try makeSize(for: picture) }
        self.size = size
        let frame = try converter(for: picture, size).convert(picture)
        // Thumbnails are scaled to square samples.
        frame.frame.pointee.sample_aspect_ratio = AVRational(num: 1, den: 1)
        defer { count += 1 }
        guard let grid else {
            paths.append(pattern.path(count + 1))
            try encode(frame)
            return Place(path: pattern.path(count + 1), x: 0, y: 0)
        }
        let (sheet, index) = count.quotientAndRemainder(dividingBy: grid.capacity)
        waiting.append(frame)
        let path = pattern.path(sheet + 1)
        if waiting.count == grid.capacity { try finishSheet() }
        let (row, column) = index.quotientAndRemainder(dividingBy: grid.columns)
        return Place(path: path, x: column * size.width, y: row * size.height)
    }

    /// Completes all files and gives them their names.
    ///
    /// - Parameter track: A text file that comes with them.
    /// - Returns: The size of all files in bytes.
    package func finish(_ track: (path: String, text: String)?) throws(MediaError) -> Int64 {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        if !waiting.isEmpty { try finishSheet() }
        try finishEncoder()
        if let track {
            let bytes = Array(track.text.utf8)
            try bytes.withUnsafeBufferPointer { (bytes) throws(MediaError) in
                try files.write(UnsafeRawBufferPointer(bytes), to: track.path)
            }
        }
        try files.commit()
        return files.byteCount
    }

    /// The size in which a picture keeps its shape as displayed.
    private func makeSize(for picture: PixelBuffer) throws(MediaError) -> (width: Int, height: Int) {
        let ratio = picture.pixelAspectRatio
        let shown = Int((Double(picture.width) * (ratio.isPositive ? ratio.doubleValue : 1)).rounded())
        let usual = grid == nil ? Self.usualWidth : Self.usualWidthOnSheets
        let width = max(width ?? min(usual, shown) & ~1, 2)
        let height = VideoTrack.evenSide(picture.height, scalingFrom: max(shown, 1), to: width)
        let sheet = (width * (grid?.columns ?? 1), height * (grid?.rows ?? 1))
        guard max(sheet.0, sheet.1) <= Self.longestSide else {
            throw MediaError(
                .invalidArgument,
                grid == nil ? "the pictures are too large" : "the sheets are too large",
                given: "\(sheet.0)x\(sheet.1)",
                allowed: "up to \(Self.longestSide)x\(Self.longestSide)",
                remedies: grid == nil
                    ? ["ask for a smaller --width"] : ["ask for a smaller --width, or fewer --columns and --rows"]
            )
        }
        return (width, height)
    }

    private func converter(
        for picture: PixelBuffer,
        _ size: (width: Int, height: Int)
    ) throws(MediaError) -> RGBConverter {
        var configuration = RGBConverter.Configuration(picture, isMonochrome: false, orientation: .upright)
        configuration.thumbnail = .init(width: size.width, height: size.height, format: format)
        if let converter, converter.configuration == configuration { return converter }
        let new = try RGBConverter(configuration, log: log)
        converter = new
        return new
    }

    private func encode(_ frame: FrameReference) throws(MediaError) {
        frame.frame.pointee.pict_type = AV_PICTURE_TYPE_NONE
        // The encoder of JPEG wants times in order.
        frame.frame.pointee.pts = Int64(paths.count)
        let encoder = if let encoder { encoder } else { try StillEncoder(for: frame, as: format, log: log) }
        self.encoder = encoder
        try encoder.encode(frame) { (bytes) throws(MediaError) in try files.write(bytes) }
    }

    private func finishEncoder() throws(MediaError) {
        try encoder?.encode(nil) { (bytes) throws(MediaError) in try files.write(bytes) }
        encoder = nil
    }

    private func finishSheet() throws(MediaError) {
        guard let grid, let size else { return }
        let columns = min(waiting.count, grid.columns)
        let rows = (waiting.count + grid.columns - 1) / grid.columns
        let sheet = try FrameReference(sheetOf: waiting[0], columns: columns, rows: rows)
        for (index, frame) in waiting.enumerated() {
            let (row, column) = index.quotientAndRemainder(dividingBy: grid.columns)
            sheet.paste(frame, x: column * size.width, y: row * size.height)
        }
        waiting = []
        paths.append(pattern.path(paths.count + 1))
        // The last sheet has another size.
        try finishEncoder()
        try encode(sheet)
    }
}

extension FrameReference {
    /// Makes a black picture for equal parts.
    fileprivate convenience init(sheetOf part: FrameReference, columns: Int, rows: Int) throws(MediaError) {
        try self.init()
        let model = part.frame.pointee
        frame.pointee.format = model.format
        frame.pointee.width = model.width * Int32(columns)
        frame.pointee.height = model.height * Int32(rows)
        frame.pointee.color_range = model.color_range
        frame.pointee.sample_aspect_ratio = AVRational(num: 1, den: 1)
        frame.pointee.pts = 0
        try check(
            av_frame_get_buffer(frame, 0),
            "av_frame_get_buffer",
            "no memory for a sheet",
            code: .outOfMemory
        )
        var addresses = planes.map { Optional($0.address) }
        addresses += [UnsafeMutablePointer<UInt8>?](repeating: nil, count: 4 - addresses.count)
        var strides = planes.map(\.stride)
        strides += [Int](repeating: 0, count: 4 - strides.count)
        av_image_fill_black(
            &addresses,
            &strides,
            AVPixelFormat(model.format),
            AVCOL_RANGE_JPEG,
            frame.pointee.width,
            frame.pointee.height
        )
    }

    /// The planes, up to three.
    private var planes: [(address: UnsafeMutablePointer<UInt8>, stride: Int)] {
        let addresses = [frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2]
        let strides = [frame.pointee.linesize.0, frame.pointee.linesize.1, frame.pointee.linesize.2]
        return zip(addresses, strides).compactMap { address, stride in address.map { ($0, Int(stride)) } }
    }

    /// Copies another picture of the same format to a place whose coordinates are even.
    fileprivate func paste(_ part: FrameReference, x: Int, y: Int) {
        guard let descriptor = av_pix_fmt_desc_get(AVPixelFormat(frame.pointee.format))?.pointee else { return }
        for (plane, (target, source)) in zip(planes, part.planes).enumerated() {
            let isChroma = plane > 0
            let (shiftX, shiftY) =
                isChroma ? (Int(descriptor.log2_chroma_w), Int(descriptor.log2_chroma_h)) : (0, 0)
            let step = Int(isChroma ? 1 : descriptor.comp.0.step)
            av_image_copy_plane(
                target.address + (y >> shiftY) * target.stride + (x >> shiftX) * step,
                Int32(target.stride),
                source.address,
                Int32(source.stride),
                Int32((Int(part.frame.pointee.width) >> shiftX) * step),
                part.frame.pointee.height >> Int32(shiftY)
            )
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// Copies pictures out of surfaces that another library has created on a display. It keeps the image that it copies to
/// for the next picture.
///
/// The driver copies (`vaGetImage`), because the memory of a surface can be slow to read for the CPU. A driver that cannot
/// copy lends the surface's own memory (`vaDeriveImage`).
public struct SurfaceDownload: ~Copyable, Sendable {
    private let connection: DisplayConnection
    private var staging: StagingImage?
    private var derives = false

    /// Creates a download for surfaces of a display, which it keeps open.
    public init(_ display: borrowing Display) { connection = display.connection }

    /// Calls a closure with a surface's samples for reading. Wait for writes to the surface first: ``Display/wait(forSurface:)``.
    ///
    /// - Parameters:
    ///   - surface: The libva ID of the surface.
    ///   - format: The pixel format of the surface.
    ///   - width: The number of columns to copy, from the left edge.
    ///   - height: The number of rows to copy, from the upper edge.
    ///   - body: Reads the samples. The memory must not be used after the closure returns.
    /// - Throws: ``VAError`` with the call that failed.
    public mutating func withReadablePlanes<Result>(
        of surface: UInt32,
        format: FourCC,
        width: Int,
        height: Int,
        _ body: (WritablePlanes) -> Result
    ) throws(VAError) -> Result {
        if !derives {
            do throws(VAError) {
                return try copy(surface, format, width, height).image.withWritablePlanes(body)
            } catch  where error.isLackOfImages {
                derives = true
            }
        }
        var image = VAImage()
        try check("vaDeriveImage", vaDeriveImage(connection.handle, surface, &image))
        return try Image(image, connection, of: nil).withWritablePlanes(body)
    }

    private mutating func copy(
        _ surface: UInt32,
        _ format: FourCC,
        _ width: Int,
        _ height: Int
    ) throws(VAError) -> StagingImage {
        let target: StagingImage
        if let staging, staging.holds(format, width: width, height: height) {
            target = staging
        } else {
            target = StagingImage(try connection.makeImage(format: format, width: width, height: height))
            staging = target
        }
        let (columns, rows) = (UInt32(clamping: width), UInt32(clamping: height))
        try check("vaGetImage", vaGetImage(connection.handle, surface, 0, 0, columns, rows, target.image.id))
        return target
    }
}

extension Display {
    /// Waits until all writes to a surface that another library has created are complete.
    ///
    /// - Parameter surface: The libva ID of the surface.
    package func wait(forSurface surface: UInt32) throws(VAError) {
        _ = try connection.wait(forSurface: surface, atMost: nil)
    }
}

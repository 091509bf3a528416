// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// The memory for the samples of a picture.
public struct WritablePlanes {
    /// The pixel format.
    public let format: FourCC
    /// The width in samples.
    public let width: Int
    /// The height in rows.
    public let height: Int
    /// The positions of the planes within ``bytes``.
    public let planes: [ImagePlane]
    /// The whole memory.
    public let bytes: UnsafeMutableRawBufferPointer

    /// Creates a description of memory for a picture.
    public init(
        format: FourCC,
        width: Int,
        height: Int,
        planes: [ImagePlane],
        bytes: UnsafeMutableRawBufferPointer
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.planes = planes
        self.bytes = bytes
    }
}

/// The way in which samples were uploaded to a surface.
public enum UploadWay: String, Sendable, Hashable {
    /// The samples were written to the surface's own memory; one copy.
    case derived
    /// The samples were written to an image, which the driver copied to the surface; two copies.
    case put

    /// The number of times that each sample was written, as far as libva shows. Drivers may also rearrange the samples
    /// of a mapped surface internally.
    public var copies: Int { self == .derived ? 1 : 2 }
}

/// The state that an upload keeps for the next one: whether surfaces can be written directly, and otherwise the image
/// to use.
public struct UploadState: ~Copyable, Sendable {
    /// The way of the last upload; nil before the first one.
    public private(set) var way: UploadWay?

    private var staging: StagingImage?

    /// Creates the state for surfaces of one kind: of the same display, size and format.
    public init() {}

    /// Uses an image for all further uploads.
    fileprivate mutating func stage(for surface: Surface) throws(VAError) -> StagingImage {
        let (format, width, height) = (surface.format ?? .nv12, surface.width, surface.height)
        if let staging, staging.holds(format, width: width, height: height) { return staging }
        let image = try surface.connection.makeImage(format: format, width: width, height: height)
        let new = StagingImage(image)
        staging = new
        return new
    }

    fileprivate mutating func took(_ way: UploadWay) { self.way = way }
}

/// An image that is reused.
final class StagingImage: Sendable {
    let image: Image

    init(_ image: consuming Image) { self.image = image }

    func holds(_ format: FourCC, width: Int, height: Int) -> Bool {
        image.format == format && image.width >= width && image.height >= height
    }
}

extension Surface {
    /// Calls a closure with memory for a picture, and uploads the picture to the surface. The memory is the surface's
    /// own if the driver supports it (`vaDeriveImage`), otherwise that of an image, which is copied (`vaCreateImage`,
    /// `vaPutImage`).
    ///
    /// The surface must not be encoded meanwhile; wait for its previous picture first.
    ///
    /// - Parameters:
    ///   - state: The caller's state for all surfaces of the same kind. The first surface determines the way for all.
    ///   - body: Writes the samples. Reading the memory may be slow. The memory must not be used after the closure
    ///     returns.
    /// - Returns: The result of the closure; `state.way` contains the way that was used.
    /// - Throws: ``VAError`` with the call that failed; the contents of the surface are then undefined.
    public func withWritablePlanes<Result>(
        _ state: inout UploadState,
        _ body: (WritablePlanes) -> Result
    ) throws(VAError) -> Result {
        if state.way != .put, let image = try derivedImage() {
            let result = try image.withWritablePlanes(body)
            state.took(.derived)
            return result
        }
        let staging = try state.stage(for: self)
        let result = try staging.image.withWritablePlanes(body)
        try put(staging.image)
        state.took(.put)
        return result
    }

    /// Calls a closure with the surface's samples for reading: its own memory if the driver supports it, otherwise an
    /// image to which they are copied. Wait for writes to the surface first.
    ///
    /// - Parameter body: Reads the samples. Reading the memory may be slow. The memory must not be used after the
    ///   closure returns.
    /// - Throws: ``VAError`` with the call that failed.
    public func withReadablePlanes<Result>(_ body: (WritablePlanes) -> Result) throws(VAError) -> Result {
        if let image = try derivedImage() { return try image.withWritablePlanes(body) }
        let image = try connection.makeImage(format: format ?? .nv12, width: width, height: height)
        try get(into: image)
        return try image.withWritablePlanes(body)
    }

    /// Returns an image of the surface's own samples; nil if the driver does not support it.
    private func derivedImage() throws(VAError) -> Image? {
        do throws(VAError) {
            return try deriveImage()
        } catch {
            guard error.isLackOfImages else { throw error }
            return nil
        }
    }
}

extension VAError {
    /// Whether the driver cannot perform an operation with an image, so that another one has to be used.
    var isLackOfImages: Bool {
        [VA_STATUS_ERROR_OPERATION_FAILED, VA_STATUS_ERROR_UNIMPLEMENTED, VA_STATUS_ERROR_INVALID_IMAGE_FORMAT]
            .contains(status.rawValue)
    }
}

extension Image {
    func withWritablePlanes<Result>(_ body: (WritablePlanes) -> Result) throws(VAError) -> Result {
        let (format, width, height, planes) = (format, width, height, planes)
        return try withMappedBytes { bytes in
            body(WritablePlanes(format: format, width: width, height: height, planes: planes, bytes: bytes))
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// The memory that a picture is written into.
public struct WritablePlanes {
    /// The pixel format.
    public let format: FourCC
    /// Samples in a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// Where the planes begin, and from row to row, within ``bytes``.
    public let planes: [ImagePlane]
    /// All of the memory.
    public let bytes: UnsafeMutableRawBufferPointer

    /// Describes memory that a picture is written into.
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

/// How samples came into a surface.
public enum UploadWay: String, Sendable, Hashable {
    /// They were written into the surface's own memory; one copy.
    case derived
    /// They were written into an image, which the driver has copied; two copies.
    case put

    /// How many times each sample was written, as far as libva shows. Drivers may arrange the samples of a mapped surface
    /// anew behind its back.
    public var copies: Int { self == .derived ? 1 : 2 }
}

/// What an upload keeps for the next one: whether surfaces can be written into, and the image to go by if not.
public struct UploadState: ~Copyable, Sendable {
    /// The way of the last upload; nil before the first.
    public private(set) var way: UploadWay?

    private var staging: StagingImage?

    /// A state before the first upload, for surfaces of one kind: of the same display, size and format.
    public init() {}

    /// Goes by images from now on.
    fileprivate mutating func stage(for surface: Surface) throws(VAError) -> StagingImage {
        if let staging, staging.fits(surface) { return staging }
        let image = try surface.connection.makeImage(
            format: surface.format ?? .nv12,
            width: surface.width,
            height: surface.height
        )
        let new = StagingImage(image)
        staging = new
        return new
    }

    fileprivate mutating func took(_ way: UploadWay) { self.way = way }
}

/// An image that is used for one upload after the other.
private final class StagingImage: Sendable {
    let image: Image

    init(_ image: consuming Image) { self.image = image }

    func fits(_ surface: Surface) -> Bool {
        image.format == surface.format ?? .nv12 && image.width >= surface.width && image.height >= surface.height
    }
}

extension Surface {
    /// Lends memory to write a picture into, and brings it into the surface: the surface's own memory where the driver
    /// has that (`vaDeriveImage`), else that of an image, which is copied (`vaCreateImage`, `vaPutImage`).
    ///
    /// Nothing may be coded from the surface meanwhile; wait for the last picture first.
    ///
    /// - Parameters:
    ///   - state: The caller's, for all surfaces of the same kind. The first surface decides which way all take.
    ///   - body: Writes the samples. The memory may be slow to read. It must not be used after the closure.
    /// - Returns: What the closure returned; `state.way` says which way it was.
    /// - Throws: ``VAError`` naming the call that failed; the surface's contents are undefined then.
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

    /// Lends the surface's samples to be read: its own memory where the driver has that, else an image's, into which they are
    /// copied. Wait for what writes to it first.
    ///
    /// - Parameter body: Reads the samples. The memory may be slow to read. It must not be used after the closure.
    /// - Throws: ``VAError`` naming the call that failed.
    public func withReadablePlanes<Result>(_ body: (WritablePlanes) -> Result) throws(VAError) -> Result {
        if let image = try derivedImage() { return try image.withWritablePlanes(body) }
        let image = try connection.makeImage(format: format ?? .nv12, width: width, height: height)
        try get(into: image)
        return try image.withWritablePlanes(body)
    }

    /// The surface's own samples; nil if the driver does not give them away.
    private func derivedImage() throws(VAError) -> Image? {
        do throws(VAError) {
            return try deriveImage()
        } catch {
            switch error.status.rawValue {
            case VA_STATUS_ERROR_OPERATION_FAILED, VA_STATUS_ERROR_UNIMPLEMENTED, VA_STATUS_ERROR_INVALID_IMAGE_FORMAT:
                return nil
            default:
                throw error
            }
        }
    }
}

extension Image {
    fileprivate func withWritablePlanes<Result>(_ body: (WritablePlanes) -> Result) throws(VAError) -> Result {
        let (format, width, height, planes) = (format, width, height, planes)
        return try withMappedBytes { bytes in
            body(WritablePlanes(format: format, width: width, height: height, planes: planes, bytes: bytes))
        }
    }
}

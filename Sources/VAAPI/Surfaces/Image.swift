// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// The position of a plane in an image's bytes.
public struct ImagePlane: Sendable, Hashable {
    /// The offset of the first row in bytes.
    public var offset: Int
    /// The distance between rows in bytes.
    public var pitch: Int

    /// Creates a plane.
    public init(offset: Int, pitch: Int) {
        self.offset = offset
        self.pitch = pitch
    }
}

/// Samples that the CPU can access (`VAImageID`): those of a surface, or a copy. It is destroyed when it is released.
public struct Image: ~Copyable, Sendable {
    /// The libva ID of the image.
    public let id: UInt32
    /// The pixel format.
    public let format: FourCC
    /// The width in samples; drivers may round up the requested width.
    public let width: Int
    /// The height in rows.
    public let height: Int
    /// The positions of the planes.
    public let planes: [ImagePlane]
    /// The size of all planes in bytes.
    public let byteCount: Int

    fileprivate let buffer: VABufferID
    fileprivate let connection: DisplayConnection
    /// The surface that owns the samples; it must outlive the image.
    private let surface: Surface?

    init(_ image: VAImage, _ connection: DisplayConnection, of surface: Surface?) {
        id = image.image_id
        format = FourCC(rawValue: image.format.fourcc)
        width = Int(image.width)
        height = Int(image.height)
        let offsets = [image.offsets.0, image.offsets.1, image.offsets.2]
        let pitches = [image.pitches.0, image.pitches.1, image.pitches.2]
        planes = zip(offsets, pitches).prefix(Int(image.num_planes)).map {
            ImagePlane(offset: Int($0), pitch: Int($1))
        }
        byteCount = Int(image.data_size)
        buffer = image.buf
        self.connection = connection
        self.surface = surface
    }

    deinit {
        connection.report { [connection, id] () throws(VAError) in
            try check("vaDestroyImage", vaDestroyImage(connection.handle, id))
        }
    }

    /// Maps the image for the duration of a closure (`vaMapBuffer`, `vaUnmapBuffer`).
    ///
    /// - Parameter body: Receives the bytes, which contain the ``planes``. They must not be used after it returns.
    public func withMappedBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) -> Result
    ) throws(VAError) -> Result {
        let count = byteCount
        return try connection.withMapping(of: buffer) { address in
            body(UnsafeMutableRawBufferPointer(start: address, count: count))
        }
    }
}

/// An image that stays mapped, for memory that others write to at any time. It is unmapped when it is released.
public struct MappedImage: ~Copyable, Sendable {
    /// The image.
    public let image: Image

    private nonisolated(unsafe) let address: UnsafeMutableRawPointer

    fileprivate init(_ image: consuming Image, at address: UnsafeMutableRawPointer) {
        self.image = image
        self.address = address
    }

    deinit {
        image.connection.report { [connection = image.connection, buffer = image.buffer] () throws(VAError) in
            try connection.unmap(buffer)
        }
    }

    /// The bytes, which contain the image's planes. They are valid while this value exists.
    public var bytes: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: address, count: image.byteCount)
    }
}

extension Image {
    /// Maps the image until the returned value is released (`vaMapBuffer`, `vaUnmapBuffer`). A surface must not be
    /// encoded while an image that is derived from it is mapped.
    ///
    /// - Throws: ``VAError`` if the driver refuses; the image is then destroyed.
    public consuming func mapped() throws(VAError) -> MappedImage {
        let address = try connection.map(buffer)
        return MappedImage(self, at: address)
    }
}

extension Display {
    /// Creates an image with its own memory (`vaCreateImage`).
    ///
    /// - Throws: ``VAError`` if the driver refuses, as for formats that it does not list (`vaQueryImageFormats`).
    public func makeImage(format: FourCC, width: Int, height: Int) throws(VAError) -> Image {
        try connection.makeImage(format: format, width: width, height: height)
    }
}

extension DisplayConnection {
    /// Returns the supported image formats, in the driver's order.
    private func imageFormats() throws(VAError) -> [VAImageFormat] {
        var list = [VAImageFormat](repeating: VAImageFormat(), count: Int(max(vaMaxNumImageFormats(handle), 0)))
        var count: Int32 = 0
        try check("vaQueryImageFormats", vaQueryImageFormats(handle, &list, &count))
        return Array(list.prefix(Int(max(count, 0))))
    }

    func makeImage(format: FourCC, width: Int, height: Int) throws(VAError) -> Image {
        // Fields of the driver's own format description differ between drivers.
        var known = VAImageFormat()
        known.fourcc = format.rawValue
        if let listed = try imageFormats().first(where: { $0.fourcc == format.rawValue }) { known = listed }
        var image = VAImage()
        try check(
            "vaCreateImage",
            vaCreateImage(handle, &known, Int32(clamping: width), Int32(clamping: height), &image)
        )
        return Image(image, self, of: nil)
    }
}

extension Surface {
    /// Creates an image of the surface's own samples (`vaDeriveImage`). It does not wait for pictures that use the
    /// surface.
    ///
    /// - Throws: ``VAError`` if the driver refuses, as many do for surfaces that are not linear.
    public func deriveImage() throws(VAError) -> Image {
        var image = VAImage()
        try check("vaDeriveImage", vaDeriveImage(connection.handle, id, &image))
        return Image(image, connection, of: self)
    }

    /// Copies the top left part of an image to the surface (`vaPutImage`).
    ///
    /// - Parameters:
    ///   - width: The width of the part in samples; nil for the smaller width of image and surface.
    ///   - height: The height of the part in rows; nil for the smaller height of image and surface.
    public func put(_ image: borrowing Image, width: Int? = nil, height: Int? = nil) throws(VAError) {
        let columns = UInt32(clamping: width ?? min(image.width, self.width))
        let rows = UInt32(clamping: height ?? min(image.height, self.height))
        try check(
            "vaPutImage",
            vaPutImage(connection.handle, id, image.id, 0, 0, columns, rows, 0, 0, columns, rows)
        )
    }

    /// Copies the top left part of the surface to an image (`vaGetImage`).
    public func get(into image: borrowing Image, width: Int? = nil, height: Int? = nil) throws(VAError) {
        let columns = UInt32(clamping: width ?? min(image.width, self.width))
        let rows = UInt32(clamping: height ?? min(image.height, self.height))
        try check("vaGetImage", vaGetImage(connection.handle, id, 0, 0, columns, rows, image.id))
    }
}

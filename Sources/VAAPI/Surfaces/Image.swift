// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// A plane within an image's bytes.
public struct ImagePlane: Sendable, Hashable {
    /// Where its first row begins, in bytes.
    public var offset: Int
    /// From a row to the next one, in bytes.
    public var pitch: Int

    /// Describes a plane.
    public init(offset: Int, pitch: Int) {
        self.offset = offset
        self.pitch = pitch
    }
}

/// Samples that the CPU reaches (`VAImageID`): a surface's own, or a copy of them. Destroyed at the end of its life.
public struct Image: ~Copyable, Sendable {
    /// The number that libva knows the image by.
    public let id: UInt32
    /// The pixel format.
    public let format: FourCC
    /// Samples in a row; drivers may round up what was asked for.
    public let width: Int
    /// Rows.
    public let height: Int
    /// Where the planes lie.
    public let planes: [ImagePlane]
    /// The size of all planes together.
    public let byteCount: Int

    fileprivate let buffer: VABufferID
    fileprivate let connection: DisplayConnection
    /// The surface whose samples these are; it must outlive the image.
    private let surface: Surface?

    fileprivate init(_ image: VAImage, _ connection: DisplayConnection, of surface: Surface?) {
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

    /// Maps the image for the time of a closure (`vaMapBuffer`, `vaUnmapBuffer`).
    ///
    /// - Parameter body: Gets the bytes, which hold the ``planes``. They must not be used after it.
    public func withMappedBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) -> Result
    ) throws(VAError) -> Result {
        let count = byteCount
        return try connection.withMapping(of: buffer) { address in
            body(UnsafeMutableRawBufferPointer(start: address, count: count))
        }
    }
}

/// An image that stays mapped: for memory that others write to in their own time. Unmapped at the end of its life.
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

    /// The bytes, which hold the image's planes. Valid while this value lives.
    public var bytes: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: address, count: image.byteCount)
    }
}

extension Image {
    /// Maps the image until the value that is returned ends (`vaMapBuffer`, `vaUnmapBuffer`). A surface whose own image is
    /// mapped must not be encoded.
    ///
    /// - Throws: ``VAError`` if the driver refuses; the image is destroyed then.
    public consuming func mapped() throws(VAError) -> MappedImage {
        let address = try connection.map(buffer)
        return MappedImage(self, at: address)
    }
}

extension Display {
    /// Makes an image in memory of its own (`vaCreateImage`).
    ///
    /// - Throws: ``VAError`` if the driver refuses, as it does for formats that it does not list (`vaQueryImageFormats`).
    public func makeImage(format: FourCC, width: Int, height: Int) throws(VAError) -> Image {
        try connection.makeImage(format: format, width: width, height: height)
    }
}

extension DisplayConnection {
    /// The formats that images can have, in the driver's order.
    private func imageFormats() throws(VAError) -> [VAImageFormat] {
        var list = [VAImageFormat](repeating: VAImageFormat(), count: Int(max(vaMaxNumImageFormats(handle), 0)))
        var count: Int32 = 0
        try check("vaQueryImageFormats", vaQueryImageFormats(handle, &list, &count))
        return Array(list.prefix(Int(max(count, 0))))
    }

    func makeImage(format: FourCC, width: Int, height: Int) throws(VAError) -> Image {
        // The driver's own description of the format has fields that differ from driver to driver.
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
    /// An image whose samples are the surface's own (`vaDeriveImage`). Nothing waits for pictures that use them.
    ///
    /// - Throws: ``VAError`` if the driver refuses, as many do for surfaces that are not arranged row by row.
    public func deriveImage() throws(VAError) -> Image {
        var image = VAImage()
        try check("vaDeriveImage", vaDeriveImage(connection.handle, id, &image))
        return Image(image, connection, of: self)
    }

    /// Copies the upper left part of an image to that of the surface (`vaPutImage`).
    ///
    /// - Parameters:
    ///   - width: Samples in a row of the part; those of image or surface, whichever has fewer, when nil.
    ///   - height: Rows of the part, likewise.
    public func put(_ image: borrowing Image, width: Int? = nil, height: Int? = nil) throws(VAError) {
        let columns = UInt32(clamping: width ?? min(image.width, self.width))
        let rows = UInt32(clamping: height ?? min(image.height, self.height))
        try check(
            "vaPutImage",
            vaPutImage(connection.handle, id, image.id, 0, 0, columns, rows, 0, 0, columns, rows)
        )
    }

    /// Copies the upper left part of the surface to that of an image (`vaGetImage`).
    public func get(into image: borrowing Image, width: Int? = nil, height: Int? = nil) throws(VAError) {
        let columns = UInt32(clamping: width ?? min(image.width, self.width))
        let rows = UInt32(clamping: height ?? min(image.height, self.height))
        try check("vaGetImage", vaGetImage(connection.handle, id, 0, 0, columns, rows, image.id))
    }
}

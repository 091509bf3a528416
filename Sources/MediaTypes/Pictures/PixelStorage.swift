// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The storage of a picture's samples.
public enum PixelStorage: Sendable {
    /// Private memory of the buffer.
    case owned
    /// Memory of the caller, returned by a closure.
    case external
    /// A sealed memfd, mapped here and shareable with another process.
    case sharedMemory(SharedMemory)
    /// A file, which is read on demand.
    case file(FilePicture)
    /// Memory of a device, exported as DMA-BUF.
    case dmaBuf(DMABuffer)
    /// A surface of a device, which stays there until the CPU needs its samples.
    case deviceSurface(any DeviceSurface)

    /// The name of the case, for messages.
    public var name: String {
        switch self {
        case .owned: "owned memory"
        case .external: "caller's memory"
        case .sharedMemory: "shared memory"
        case .file: "file"
        case .dmaBuf: "DMA-BUF"
        case .deviceSurface: "device surface"
        }
    }
}

/// One plane that the CPU can access.
public struct PixelPlane: @unchecked Sendable {
    /// The address of the first sample of the first row.
    public let baseAddress: UnsafeMutableRawPointer
    /// The row stride in bytes.
    public let bytesPerRow: Int

    /// Makes a plane. The memory still belongs to the caller.
    public init(baseAddress: UnsafeMutableRawPointer, bytesPerRow: Int) {
        self.baseAddress = baseAddress
        self.bytesPerRow = bytesPerRow
    }
}

/// A memfd that stores a picture. The pixel buffer owns the descriptor; duplicate it to keep it longer.
public struct SharedMemory: Sendable, Hashable {
    /// The memfd, sealed against changes of its size and, from Linux 5.1 on, against all writes except the buffer's.
    public let fileDescriptor: Int32
    /// The size in bytes.
    public let byteCount: Int
    /// The layout of the planes.
    public let planes: [PlaneLayout]

    /// Describes memory whose size is sealed.
    package init(fileDescriptor: Int32, byteCount: Int, planes: [PlaneLayout]) {
        self.fileDescriptor = fileDescriptor
        self.byteCount = byteCount
        self.planes = planes
    }
}

/// An uncompressed picture in a file that must not change while the buffer exists.
///
/// The file is read and never mapped, so that a truncated file causes an error instead of ending the process.
public struct FilePicture: Sendable, Hashable {
    /// The file, which must be seekable. The descriptor belongs to the creator of the pixel buffer and must stay open
    /// until the buffer is released.
    public var fileDescriptor: Int32
    /// The layout of the planes, with offsets from the beginning of the file.
    public var planes: [PlaneLayout]

    /// Makes a description of a picture in a file.
    public init(fileDescriptor: Int32, planes: [PlaneLayout]) {
        self.fileDescriptor = fileDescriptor
        self.planes = planes
    }
}

/// A picture in DMA-BUF memory, described as in `drmPrimeFDToHandle` and `VADRMPRIMESurfaceDescriptor`.
///
/// It is encoded in place if its planes have room for whole macroblocks: 16 columns and rows of luma, 8 rows of chroma.
/// The padding around the picture is coded, and cropped by decoders. The GPU copies a linear buffer without that room, or
/// the CPU if the GPU cannot.
public struct DMABuffer: Sendable, Hashable {
    /// One plane of the picture.
    public struct Plane: Sendable, Hashable {
        /// The index in ``DMABuffer/fileDescriptors`` of the memory that holds the plane.
        public var object: Int
        /// The offset and row stride in that memory.
        public var layout: PlaneLayout

        /// Makes a plane.
        public init(object: Int, layout: PlaneLayout) {
            self.object = object
            self.layout = layout
        }
    }

    /// The descriptors. They belong to the creator of the pixel buffer and must stay open until the buffer is released.
    public var fileDescriptors: [Int32]
    /// The planes.
    public var planes: [Plane]
    /// The DRM format modifier, which defines the tiling; 0 is linear.
    public var modifier: UInt64

    /// The size of each of ``fileDescriptors`` in bytes; 0 if it is not reported.
    package var byteCounts: [Int] { fileDescriptors.map { max(Int(lseek($0, 0, SEEK_END)), 0) } }

    /// Whether the samples are stored row by row (`DRM_FORMAT_MOD_LINEAR`).
    public var isLinear: Bool { modifier == 0 }

    /// Makes a description of a DMA-BUF.
    public init(fileDescriptors: [Int32], planes: [Plane], modifier: UInt64) {
        self.fileDescriptors = fileDescriptors
        self.planes = planes
        self.modifier = modifier
    }
}

/// A surface of a device, implemented by the layer that controls the device.
public protocol DeviceSurface: AnyObject, Sendable {
    /// The device of the surface, for example `/dev/dri/renderD128`.
    var device: String { get }

    /// Whether ``copy(_:)`` can return the samples.
    var isReadable: Bool { get }

    /// Copies the samples into memory. A pixel buffer calls it once, when they are first accessed; it may block.
    ///
    /// - Parameter picture: The properties of the picture in the surface.
    /// - Returns: A buffer in memory, with these properties.
    /// - Throws: The error of the device; `unsupported` unless ``isReadable``.
    func copy(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer

    /// Exports the surface's memory as DMA-BUF, without a copy, for ``PixelBuffer/exportDMABuf()``; it may block. The
    /// caller keeps the surface as long as the returned buffer.
    ///
    /// - Parameter picture: The properties of the picture in the surface.
    /// - Returns: A buffer with these properties, whose storage is ``PixelStorage/dmaBuf(_:)`` and which owns its
    ///   descriptors.
    /// - Throws: `unsupported` if the device cannot export it, or did not prove that it does so correctly; the error of
    ///   the device.
    func export(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer
}

extension DeviceSurface {
    /// Returns `false`: only the device can read the samples.
    public var isReadable: Bool { false }

    /// Throws `unsupported`: only the device can read the samples.
    public func copy(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        throw MediaError(.unsupported, "the samples of a device surface cannot be read", given: device)
    }

    /// Throws `unsupported`: the surface cannot be exported.
    public func export(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
        throw MediaError(.unsupported, "a device surface cannot be exported as DMA-BUF", given: device)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// Where the samples of a picture lie.
public enum PixelStorage: Sendable {
    /// In private memory of the buffer.
    case owned
    /// In the caller's memory, which is given back by a closure.
    case external
    /// In a sealed memfd, mapped here and shareable with another process.
    case sharedMemory(SharedMemory)
    /// In a file, from which they are read when somebody wants them.
    case file(FilePicture)
    /// In memory of a device, exported as DMA-BUF.
    case dmaBuf(DMABuffer)
    /// In a surface of a device that only its driver can read.
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

/// One plane that the CPU can reach.
public struct PixelPlane: @unchecked Sendable {
    /// The first sample of the first row.
    public let baseAddress: UnsafeMutableRawPointer
    /// Bytes from a row to the next one.
    public let bytesPerRow: Int

    /// Describes a plane. The memory belongs to the maker of the plane.
    public init(baseAddress: UnsafeMutableRawPointer, bytesPerRow: Int) {
        self.baseAddress = baseAddress
        self.bytesPerRow = bytesPerRow
    }
}

/// A memfd that holds a picture. The pixel buffer owns the descriptor; duplicate it to keep it longer.
public struct SharedMemory: Sendable, Hashable {
    /// The memfd, sealed against change of size and, from Linux 5.1 on, against writing in any way but through the buffer.
    public let fileDescriptor: Int32
    /// Its size.
    public let byteCount: Int
    /// Where the planes lie.
    public let planes: [PlaneLayout]
}

/// An uncompressed picture in a file, which nobody changes while the buffer lives.
///
/// The file is read and never mapped, so that one which is truncated nevertheless is an error and does not end the process.
public struct FilePicture: Sendable, Hashable {
    /// The file, which can be read at any place. The descriptor belongs to whoever made the pixel buffer and must stay open
    /// until its release.
    public var fileDescriptor: Int32
    /// Where the planes lie, counted from the beginning of the file.
    public var planes: [PlaneLayout]

    /// Describes a picture in a file.
    public init(fileDescriptor: Int32, planes: [PlaneLayout]) {
        self.fileDescriptor = fileDescriptor
        self.planes = planes
    }
}

/// A picture in DMA-BUF memory, as `drmPrimeFDToHandle` and `VADRMPRIMESurfaceDescriptor` describe it.
///
/// It is encoded where it lies if its planes have room for whole macroblocks: 16 columns and rows of luma, 8 rows of chroma.
/// What is in the room beside the picture is coded, and cut off by decoders. A linear one without that room is copied.
public struct DMABuffer: Sendable, Hashable {
    /// One plane of the picture.
    public struct Plane: Sendable, Hashable {
        /// The index in ``DMABuffer/fileDescriptors`` of the memory that holds the plane.
        public var object: Int
        /// Offset and row length inside of that memory.
        public var layout: PlaneLayout

        /// Describes a plane.
        public init(object: Int, layout: PlaneLayout) {
            self.object = object
            self.layout = layout
        }
    }

    /// The descriptors. They belong to whoever made the pixel buffer and must stay open until its release.
    public var fileDescriptors: [Int32]
    /// The planes.
    public var planes: [Plane]
    /// The DRM format modifier, which tells the tiling; 0 is linear.
    public var modifier: UInt64

    /// How many bytes each of ``fileDescriptors`` has, 0 of one that does not say.
    package var byteCounts: [Int] { fileDescriptors.map { max(Int(lseek($0, 0, SEEK_END)), 0) } }

    /// Whether the samples lie row by row (`DRM_FORMAT_MOD_LINEAR`).
    public var isLinear: Bool { modifier == 0 }

    /// Describes a DMA-BUF.
    public init(fileDescriptors: [Int32], planes: [Plane], modifier: UInt64) {
        self.fileDescriptors = fileDescriptors
        self.planes = planes
        self.modifier = modifier
    }
}

/// A surface that lives on a device; implemented by the layer that drives the device.
public protocol DeviceSurface: AnyObject, Sendable {
    /// Which device holds the surface, for example `/dev/dri/renderD128`.
    var device: String { get }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// Where the memory of a surface may come from (`VA_SURFACE_ATTRIB_MEM_TYPE_*`).
public struct SurfaceMemoryTypes: NamedBits, Sendable, Hashable {
    /// The bits of `va.h`.
    public let rawValue: UInt32

    /// Wraps bits of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The driver allocates it.
    public static let driver = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_VA))
    /// The application's own, by pointer.
    public static let userPointer = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR))
    /// A DMA-BUF in the older description, which has no modifiers.
    public static let prime = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME))
    /// A DMA-BUF.
    public static let prime2 = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2))

    /// A DMA-BUF in the description of libva 2.21, which adds flags (`VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_3`; older
    /// headers do not have the name).
    public static let prime3 = Self(rawValue: 0x0800_0000)

    /// Such as `driver prime-2`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.driver.rawValue, "driver"), (UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_V4L2), "v4l2"),
            (Self.userPointer.rawValue, "user-pointer"),
            (UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_KERNEL_DRM), "kernel-drm"), (Self.prime.rawValue, "prime"),
            (Self.prime2.rawValue, "prime-2"), (Self.prime3.rawValue, "prime-3"),
        ]
    }
}

/// What a driver says of surfaces in one point (`VASurfaceAttrib`).
public struct SurfaceAttributeValue: Sendable, Hashable {
    /// The number of `VASurfaceAttribType`.
    public var type: UInt32
    /// Bits of `VA_SURFACE_ATTRIB_*ABLE`: whether it can be read and given to `vaCreateSurfaces`.
    public var flags: UInt32
    /// The value if it is a number; pointers mean nothing in an answer.
    public var value: Int32?

    /// Pairs an attribute with a value.
    public init(type: UInt32, flags: UInt32, value: Int32?) {
        self.type = type
        self.flags = flags
        self.value = value
    }

    init(_ attribute: VASurfaceAttrib) {
        let isInteger = attribute.value.type == VAGenericValueTypeInteger
        self.init(
            type: attribute.type.rawValue,
            flags: attribute.flags,
            value: isInteger ? attribute.value.value.i : nil
        )
    }
}

/// What surfaces a driver has for a config, as far as it says so (`vaQuerySurfaceAttributes`).
public struct SurfaceCapabilities: Sendable, Hashable {
    /// Everything that the driver said, in its order.
    public let attributes: [SurfaceAttributeValue]

    /// Interprets what a driver said.
    public init(attributes: [SurfaceAttributeValue]) { self.attributes = attributes }

    /// Pixel formats that a surface can be made of, in the driver's order; empty when it names none.
    public var formats: [FourCC] {
        values(VASurfaceAttribPixelFormat).map { FourCC(rawValue: UInt32(bitPattern: $0)) }
    }

    /// The least width of a surface in samples; nil when it is not stated. Sizes that are not above zero say nothing.
    public var minimumWidth: Int? { size(VASurfaceAttribMinWidth) }
    /// The greatest width.
    public var maximumWidth: Int? { size(VASurfaceAttribMaxWidth) }
    /// The least height in rows.
    public var minimumHeight: Int? { size(VASurfaceAttribMinHeight) }
    /// The greatest height.
    public var maximumHeight: Int? { size(VASurfaceAttribMaxHeight) }

    /// What widths and heights of coded pictures are multiples of (`VASurfaceAttribAlignmentSize`); nil when the driver
    /// does not say.
    public var alignment: (width: Int, height: Int)? {
        // libva has the attribute since 2.21: the logarithm of the width in 4 bits, then that of the height.
        attributes.last { $0.type == Self.alignmentType }?.value.map { value in
            (1 << (Int(value) & 0xF), 1 << (Int(value) >> 4 & 0xF))
        }
    }

    /// The number of `VASurfaceAttribAlignmentSize`, which older headers do not have.
    private static let alignmentType: UInt32 = 10

    /// Where memory may come from. A driver that says nothing has its own memory only.
    public var memoryTypes: SurfaceMemoryTypes {
        values(VASurfaceAttribMemoryType).last.map { SurfaceMemoryTypes(rawValue: UInt32(bitPattern: $0)) } ?? .driver
    }

    /// Whether `vaCreateSurfaces` takes a usage hint.
    public var takesUsage: Bool { isSettable(VASurfaceAttribUsageHint) }
    /// Whether `vaCreateSurfaces` takes a list of DRM format modifiers to choose from. No call tells which ones the
    /// driver has; that of a surface is seen when it is exported.
    public var takesModifiers: Bool { isSettable(VASurfaceAttribDRMFormatModifiers) }

    private func values(_ type: VASurfaceAttribType) -> [Int32] {
        attributes.filter { $0.type == type.rawValue }.compactMap(\.value)
    }

    private func size(_ type: VASurfaceAttribType) -> Int? {
        values(type).last.flatMap { $0 > 0 ? Int($0) : nil }
    }

    private func isSettable(_ type: VASurfaceAttribType) -> Bool {
        attributes.contains { $0.type == type.rawValue && $0.flags & UInt32(VA_SURFACE_ATTRIB_SETTABLE) != 0 }
    }
}

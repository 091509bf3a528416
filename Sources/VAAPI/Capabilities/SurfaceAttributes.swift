// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// The origins of surface memory (`VA_SURFACE_ATTRIB_MEM_TYPE_*`).
public struct SurfaceMemoryTypes: NamedBits, Sendable, Hashable {
    /// The bits, as in `va.h`.
    public let rawValue: UInt32

    /// Wraps bits from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Memory that the driver allocates.
    public static let driver = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_VA))
    /// Memory of the application, by pointer.
    public static let userPointer = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR))
    /// A DMA-BUF with the older descriptor, which has no modifiers.
    public static let prime = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME))
    /// A DMA-BUF.
    public static let prime2 = Self(rawValue: UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2))

    /// A DMA-BUF with the descriptor of libva 2.21, which adds flags (`VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_3`; older
    /// headers do not have the name).
    public static let prime3 = Self(rawValue: 0x0800_0000)

    /// Names such as `driver prime-2`.
    public static var bitNames: [(bit: UInt32, name: String)] {
        [
            (Self.driver.rawValue, "driver"), (UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_V4L2), "v4l2"),
            (Self.userPointer.rawValue, "user-pointer"),
            (UInt32(VA_SURFACE_ATTRIB_MEM_TYPE_KERNEL_DRM), "kernel-drm"), (Self.prime.rawValue, "prime"),
            (Self.prime2.rawValue, "prime-2"), (Self.prime3.rawValue, "prime-3"),
        ]
    }
}

/// A surface attribute that a driver reports (`VASurfaceAttrib`).
public struct SurfaceAttributeValue: Sendable, Hashable {
    /// The value of `VASurfaceAttribType`.
    public var type: UInt32
    /// The bits of `VA_SURFACE_ATTRIB_*ABLE`: whether the attribute can be read and passed to `vaCreateSurfaces`.
    public var flags: UInt32
    /// The value if it is a number; pointers have no meaning in an answer.
    public var value: Int32?

    /// Creates an attribute.
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

/// The surfaces that a driver supports for a config, as far as it reports them (`vaQuerySurfaceAttributes`).
public struct SurfaceCapabilities: Sendable, Hashable {
    /// All reported attributes, in the driver's order.
    public let attributes: [SurfaceAttributeValue]

    /// Interprets the answers of a driver.
    public init(attributes: [SurfaceAttributeValue]) { self.attributes = attributes }

    /// The supported pixel formats, in the driver's order; empty if it reports none.
    public var formats: [FourCC] {
        values(VASurfaceAttribPixelFormat).map { FourCC(rawValue: UInt32(bitPattern: $0)) }
    }

    /// The minimum width in samples; nil if it is not reported. Sizes of 0 or less count as not reported.
    public var minimumWidth: Int? { size(VASurfaceAttribMinWidth) }
    /// The maximum width in samples; nil if it is not reported.
    public var maximumWidth: Int? { size(VASurfaceAttribMaxWidth) }
    /// The minimum height in rows; nil if it is not reported.
    public var minimumHeight: Int? { size(VASurfaceAttribMinHeight) }
    /// The maximum height in rows; nil if it is not reported.
    public var maximumHeight: Int? { size(VASurfaceAttribMaxHeight) }

    /// The alignment of the width and height of coded pictures (`VASurfaceAttribAlignmentSize`); nil if the driver does
    /// not report it.
    public var alignment: (width: Int, height: Int)? {
        // Available since libva 2.21: the base-2 logarithm of the width in 4 bits, followed by that of the height.
        attributes.last { $0.type == Self.alignmentType }?.value.map { value in
            (1 << (Int(value) & 0xF), 1 << (Int(value) >> 4 & 0xF))
        }
    }

    /// The value of `VASurfaceAttribAlignmentSize`, which older headers do not have.
    private static let alignmentType: UInt32 = 10

    /// The supported origins of memory. A driver that reports none supports only its own memory.
    public var memoryTypes: SurfaceMemoryTypes {
        values(VASurfaceAttribMemoryType).last.map { SurfaceMemoryTypes(rawValue: UInt32(bitPattern: $0)) } ?? .driver
    }

    /// Whether `vaCreateSurfaces` accepts a usage hint.
    public var takesUsage: Bool { isSettable(VASurfaceAttribUsageHint) }
    /// Whether `vaCreateSurfaces` accepts a list of DRM format modifiers to choose from. No call lists the modifiers
    /// that the driver supports; the modifier of a surface is only visible when it is exported.
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

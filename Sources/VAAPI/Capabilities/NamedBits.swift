// SPDX-License-Identifier: GPL-2.0-or-later

/// A set of `va.h` bits that have names.
public protocol NamedBits: OptionSet, CustomStringConvertible where RawValue == UInt32 {
    /// The bits that have a name, in the order of their description.
    static var bitNames: [(bit: UInt32, name: String)] { get }
}

extension NamedBits {
    /// The names of the set bits, followed by one hexadecimal number for the bits without a name.
    public var names: [String] {
        var names: [String] = []
        var unnamed = rawValue
        for (bit, name) in Self.bitNames where rawValue & bit != 0 {
            names.append(name)
            unnamed &= ~bit
        }
        if unnamed != 0 { names.append("0x" + String(unnamed, radix: 16)) }
        return names
    }

    /// The names, separated by spaces; `none` if no bit is set.
    public var description: String { rawValue == 0 ? "none" : names.joined(separator: " ") }
}

/// A pixel format by its four-character code (`VA_FOURCC_*`). DRM uses the same code for most formats.
public struct FourCC: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The characters, the first in the lowest byte.
    public let rawValue: UInt32

    /// Wraps a value from `va.h` or `drm_fourcc.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A luma plane and a plane of interleaved chroma; 4:2:0, 8 bits.
    public static let nv12 = Self("NV12")
    /// The layout of NV12 with 10 bits, in the upper bits of 16.
    public static let p010 = Self("P010")
    /// Three planes Y, U, V; 4:2:0, 8 bits.
    public static let i420 = Self("I420")
    /// Three planes Y, V, U; 4:2:0, 8 bits.
    public static let yv12 = Self("YV12")
    /// Packed Y, U, Y, V; 4:2:2, 8 bits.
    public static let yuy2 = Self("YUY2")
    /// The layout of P010 with 12 bits, in the upper bits of 16.
    public static let p012 = Self("P012")
    /// The layout of YUY2 with 10 bits, in the upper bits of 16.
    public static let y210 = Self("Y210")
    /// The layout of YUY2 with 12 bits, in the upper bits of 16.
    public static let y212 = Self("Y212")
    /// Packed V, U, Y, alpha; 4:4:4, 8 bits.
    public static let ayuv = Self("AYUV")
    /// Packed V, U, Y and an unused byte; 4:4:4, 8 bits.
    public static let xyuv = Self("XYUV")
    /// U, Y, V and alpha in a 32-bit word, starting with the lowest bits; 4:4:4, 10 bits.
    public static let y410 = Self("Y410")
    /// Packed U, Y, V, alpha; 4:4:4, 12 bits in the upper bits of 16.
    public static let y412 = Self("Y412")
    /// Packed blue, green, red, alpha; 8 bits.
    public static let bgra = Self("BGRA")
    /// Packed blue, green, red and an unused byte; 8 bits.
    public static let bgrx = Self("BGRX")
    /// ``bgra`` by its DRM name, which names the components of a little-endian word.
    public static let argb8888 = Self("AR24")
    /// ``bgrx`` by its DRM name.
    public static let xrgb8888 = Self("XR24")
    /// ``yuy2`` by its DRM name.
    public static let yuyv = Self("YUYV")
    /// A plane of single bytes by its DRM name: the luma of NV12 as a separate layer.
    public static let r8 = Self("R8  ")
    /// A plane of byte pairs by its DRM name: the chroma of NV12 as a separate layer.
    public static let gr88 = Self("GR88")
    /// A plane of single 16-bit words by its DRM name: the luma of P010 as a separate layer.
    public static let r16 = Self("R16 ")
    /// A plane of pairs of 16-bit words by its DRM name: the chroma of P010 as a separate layer.
    public static let gr1616 = Self("GR32")

    private init(_ letters: StaticString) {
        rawValue = (0..<4).reduce(0) { $0 | UInt32(letters.utf8Start[$1]) << (8 * $1) }
    }

    /// The four characters; the number if they are not printable.
    public var description: String {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (8 * $0)) }
        guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return "0x" + String(rawValue, radix: 16) }
        return String(decoding: bytes, as: UTF8.self).trimmingSuffix(" ")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = Substring(self)
        while text.last == character { text.removeLast() }
        return String(text)
    }
}

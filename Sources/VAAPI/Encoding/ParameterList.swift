// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// The type of a parameter buffer (`VABufferType`).
public struct BufferType: RawRepresentable, Sendable, Hashable {
    /// The value in `va.h`.
    public let rawValue: UInt32

    /// Wraps a value from `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    private init(_ type: VABufferType) { rawValue = type.rawValue }

    /// Sequence parameters; the structure depends on the codec.
    public static let sequenceParameters = Self(VAEncSequenceParameterBufferType)
    /// Picture parameters.
    public static let pictureParameters = Self(VAEncPictureParameterBufferType)
    /// The parameters of one or more slices.
    public static let sliceParameters = Self(VAEncSliceParameterBufferType)
    /// The description of the packed header that follows.
    public static let packedHeaderParameters = Self(VAEncPackedHeaderParameterBufferType)
    /// The data of a packed header.
    public static let packedHeaderData = Self(VAEncPackedHeaderDataBufferType)
    /// Miscellaneous parameters, which contain their own type.
    public static let miscellaneousParameters = Self(VAEncMiscParameterBufferType)
    /// The quantization parameters of individual blocks.
    public static let quantizationMap = Self(VAEncQPBufferType)
    /// Scaling matrices.
    public static let scalingMatrices = Self(VAIQMatrixBufferType)
}

extension BufferType: CustomStringConvertible {
    /// The name in `va.h` without prefix and suffix, such as `EncSequenceParameter`; the number if libva has no name
    /// for it.
    public var description: String {
        guard let name = shortName(vaBufferTypeStr(VABufferType(rawValue: rawValue)), prefix: "VA") else {
            return "buffer type \(rawValue)"
        }
        return name.hasSuffix("BufferType") ? String(name.dropLast("BufferType".count)) : name
    }
}

/// The parameters of one picture, in the order in which the driver reads them: structures of `va_enc_*.h` and headers,
/// as bytes. A list can be cleared and refilled without allocation.
///
/// Values are C structures, whose bytes are copied. (`BitwiseCopyable` would express this, but Swift does not infer it
/// for structures with unions.)
public struct ParameterList: Sendable {
    /// One parameter buffer.
    struct Entry: Sendable {
        var type: BufferType
        var range: Range<Int>
        /// The number of equal-sized elements in the bytes.
        var count: Int
    }

    private(set) var entries: [Entry] = []
    private(set) var bytes: [UInt8] = []
    private var arrays: [KeptArray] = []

    /// Creates an empty list.
    public init() {}

    /// The types of the parameters, in order.
    public var types: [BufferType] { entries.map(\.type) }

    /// Appends a structure.
    public mutating func append<Value>(_ type: BufferType, _ value: Value) {
        withUnsafeBytes(of: value) { append(type, $0, count: 1) }
    }

    /// Appends several equal structures as one buffer, such as the slices of a picture.
    public mutating func append<Value>(_ type: BufferType, elements: [Value]) {
        if elements.isEmpty { return }
        elements.withUnsafeBytes { append(type, $0, count: elements.count) }
    }

    /// Appends bytes, such as those of a packed header.
    public mutating func append(_ type: BufferType, bytes: [UInt8]) {
        if bytes.isEmpty { return }
        bytes.withUnsafeBytes { append(type, $0, count: 1) }
    }

    /// Appends a structure with its type (`VAEncMiscParameterBuffer`).
    ///
    /// - Parameter kind: The value of `VAEncMiscParameterType`.
    public mutating func appendMiscellaneous<Value>(_ kind: UInt32, _ value: Value) {
        let start = bytes.count
        withUnsafeBytes(of: kind) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
        entries.append(Entry(type: .miscellaneousParameters, range: start..<bytes.count, count: 1))
    }

    /// Copies elements to memory that stays valid until this list and all its copies are cleared: for structures that
    /// contain pointers, such as regions of interest.
    public mutating func keep<Value>(_ elements: [Value]) -> UnsafeMutablePointer<Value>? {
        if elements.isEmpty { return nil }
        let array = elements.withUnsafeBytes { KeptArray(copying: $0, alignment: MemoryLayout<Value>.alignment) }
        arrays.append(array)
        return array.bytes.bindMemory(to: Value.self).baseAddress
    }

    /// Appends the parameters of another list.
    public mutating func append(contentsOf other: ParameterList) {
        let start = bytes.count
        bytes.append(contentsOf: other.bytes)
        for entry in other.entries {
            let range = entry.range.lowerBound + start..<entry.range.upperBound + start
            entries.append(Entry(type: entry.type, range: range, count: entry.count))
        }
        arrays.append(contentsOf: other.arrays)
    }

    /// Removes everything.
    public mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        arrays.removeAll(keepingCapacity: true)
    }

    private mutating func append(_ type: BufferType, _ content: UnsafeRawBufferPointer, count: Int) {
        let start = bytes.count
        bytes.append(contentsOf: content)
        entries.append(Entry(type: type, range: start..<bytes.count, count: count))
    }
}

/// Memory at a fixed address. It is written before it is shared.
private final class KeptArray: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(copying source: UnsafeRawBufferPointer, alignment: Int) {
        bytes = .allocate(byteCount: source.count, alignment: alignment)
        bytes.copyMemory(from: source)
    }

    deinit { bytes.deallocate() }
}

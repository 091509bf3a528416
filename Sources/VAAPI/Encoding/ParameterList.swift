// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// What a parameter buffer holds (`VABufferType`).
public struct BufferType: RawRepresentable, Sendable, Hashable {
    /// The number of `va.h`.
    public let rawValue: UInt32

    /// Wraps a number of `va.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    private init(_ type: VABufferType) { rawValue = type.rawValue }

    /// A sequence's parameters; the structure is the codec's.
    public static let sequenceParameters = Self(VAEncSequenceParameterBufferType)
    /// A picture's parameters.
    public static let pictureParameters = Self(VAEncPictureParameterBufferType)
    /// The parameters of a slice, or of several.
    public static let sliceParameters = Self(VAEncSliceParameterBufferType)
    /// Describes the packed header that follows.
    public static let packedHeaderParameters = Self(VAEncPackedHeaderParameterBufferType)
    /// The bits of a packed header.
    public static let packedHeaderData = Self(VAEncPackedHeaderDataBufferType)
    /// One of many kinds of parameters, which says itself what it is.
    public static let miscellaneousParameters = Self(VAEncMiscParameterBufferType)
    /// Quantisation parameters of single blocks.
    public static let quantizationMap = Self(VAEncQPBufferType)
    /// Scaling matrices.
    public static let scalingMatrices = Self(VAIQMatrixBufferType)
}

extension BufferType: CustomStringConvertible {
    /// The name in `va.h` without prefix and suffix, such as `EncSequenceParameter`; the number where libva knows no name.
    public var description: String {
        guard let name = shortName(vaBufferTypeStr(VABufferType(rawValue: rawValue)), prefix: "VA") else {
            return "buffer type \(rawValue)"
        }
        return name.hasSuffix("BufferType") ? String(name.dropLast("BufferType".count)) : name
    }
}

/// The parameters of one picture, in the order in which the driver shall read them: structures of `va_enc_*.h`, and
/// headers, as bytes. A list can be emptied and filled again without allocating.
///
/// Values are C structures, of which the bytes are taken as they are. (`BitwiseCopyable` would say so, but Swift does not
/// see that of structures with unions.)
public struct ParameterList: Sendable {
    /// One parameter buffer.
    struct Entry: Sendable {
        var type: BufferType
        var range: Range<Int>
        /// How many equal elements the bytes are.
        var count: Int
    }

    private(set) var entries: [Entry] = []
    private(set) var bytes: [UInt8] = []
    private var arrays: [KeptArray] = []

    /// An empty list.
    public init() {}

    /// The types of the parameters, in order.
    public var types: [BufferType] { entries.map(\.type) }

    /// Adds a structure.
    public mutating func append<Value>(_ type: BufferType, _ value: Value) {
        withUnsafeBytes(of: value) { append(type, $0, count: 1) }
    }

    /// Adds several equal structures as one buffer, such as the slices of a picture.
    public mutating func append<Value>(_ type: BufferType, elements: [Value]) {
        if elements.isEmpty { return }
        elements.withUnsafeBytes { append(type, $0, count: elements.count) }
    }

    /// Adds bytes, such as those of a packed header.
    public mutating func append(_ type: BufferType, bytes: [UInt8]) {
        if bytes.isEmpty { return }
        bytes.withUnsafeBytes { append(type, $0, count: 1) }
    }

    /// Adds a structure of the kind that says itself what it is (`VAEncMiscParameterBuffer`).
    ///
    /// - Parameter kind: The number of `VAEncMiscParameterType`.
    public mutating func appendMiscellaneous<Value>(_ kind: UInt32, _ value: Value) {
        let start = bytes.count
        withUnsafeBytes(of: kind) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
        entries.append(Entry(type: .miscellaneousParameters, range: start..<bytes.count, count: 1))
    }

    /// Copies elements to a place that stays valid as long as this list, or a copy of it, is not emptied: for structures
    /// that point to others, as that of regions of interest does.
    public mutating func keep<Value>(_ elements: [Value]) -> UnsafeMutablePointer<Value>? {
        if elements.isEmpty { return nil }
        let array = elements.withUnsafeBytes { KeptArray(copying: $0, alignment: MemoryLayout<Value>.alignment) }
        arrays.append(array)
        return array.bytes.bindMemory(to: Value.self).baseAddress
    }

    /// Adds the parameters of another list behind those of this one.
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

/// Memory with a fixed address. It is written before anyone else sees it.
private final class KeptArray: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(copying source: UnsafeRawBufferPointer, alignment: Int) {
        bytes = .allocate(byteCount: source.count, alignment: alignment)
        bytes.copyMemory(from: source)
    }

    deinit { bytes.deallocate() }
}

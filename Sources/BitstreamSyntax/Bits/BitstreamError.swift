// SPDX-License-Identifier: GPL-2.0-or-later

/// An error in reading or writing a bitstream.
///
/// The same type serves both: a value that a reader rejects is also rejected by a writer.
public struct BitstreamError: Error, Hashable, Sendable {
    /// The kind of error in a field.
    public enum Reason: Hashable, Sendable {
        /// The data ends before the field.
        case truncated
        /// The bits are not a valid code of the field's coding, for example an Exp-Golomb prefix of more than 32 zeros.
        case invalidCode
        /// The value is outside of the range that the specification, or a documented limit of this implementation,
        /// allows.
        case outOfRange(value: Int64, allowed: ClosedRange<Int64>)
    }

    /// The name of the syntax element in the specification, with its indices: `offset_for_ref_frame[2]`.
    public var field: String
    /// The position of the field's first bit, counted from the first bit of the unit.
    ///
    /// In a NAL unit, this includes the header and excludes emulation prevention bytes, as in the syntax tables.
    public var bitPosition: Int
    /// The kind of error.
    public var reason: Reason

    /// Makes an error about `field`, which starts at `bitPosition`.
    public init(field: String, bitPosition: Int, reason: Reason) {
        self.field = field
        self.bitPosition = bitPosition
        self.reason = reason
    }

    /// Makes an error for a value outside of its range; values beyond 64 bits are clamped.
    static func outOfRange<Value: BinaryInteger>(
        _ field: String,
        at bitPosition: Int,
        value: Value,
        allowed: ClosedRange<Value>
    ) -> BitstreamError {
        let bounds = Int64(clamping: allowed.lowerBound)...Int64(clamping: allowed.upperBound)
        return BitstreamError(
            field: field,
            bitPosition: bitPosition,
            reason: .outOfRange(value: Int64(clamping: value), allowed: bounds)
        )
    }
}

extension BitstreamError: CustomStringConvertible {
    /// A one-line description: field, position, given value and allowed values.
    public var description: String {
        switch reason {
        case .truncated:
            "\(field) at bit \(bitPosition): the data end here"
        case .invalidCode:
            "\(field) at bit \(bitPosition): no valid code"
        case .outOfRange(let value, let allowed):
            "\(field) at bit \(bitPosition) is \(value), allowed: \(allowed.lowerBound)...\(allowed.upperBound)"
        }
    }
}

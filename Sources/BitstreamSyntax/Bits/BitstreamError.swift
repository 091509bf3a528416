// SPDX-License-Identifier: GPL-2.0-or-later

/// Why bytes could not be read as, or values could not be written as, a bitstream.
///
/// The same type serves reading and writing: a value that a reader refuses is one that a writer refuses too.
public struct BitstreamError: Error, Hashable, Sendable {
    /// What is wrong with the field.
    public enum Reason: Hashable, Sendable {
        /// The data end before the field does.
        case truncated
        /// The bits form no code of the field's coding, such as an Exp-Golomb prefix of more than 32 zeros.
        case invalidCode
        /// The value is outside of what the specification, or this implementation's stated limit, allows.
        case outOfRange(value: Int64, allowed: ClosedRange<Int64>)
    }

    /// The syntax element by its name in the specification, with its indices: `offset_for_ref_frame[2]`.
    public var field: String
    /// Where the field starts, in bits from the first bit of the unit being read or written.
    ///
    /// Within a NAL unit this counts the header and leaves out emulation prevention bytes, as the syntax tables do.
    public var bitPosition: Int
    /// What is wrong.
    public var reason: Reason

    /// Makes an error about `field`, which starts at `bitPosition`.
    public init(field: String, bitPosition: Int, reason: Reason) {
        self.field = field
        self.bitPosition = bitPosition
        self.reason = reason
    }

    /// An error for a value outside of its range; values beyond 64 bits are clamped.
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
    /// One line for people: field, position, value given and values allowed.
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

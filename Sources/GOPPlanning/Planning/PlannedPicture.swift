// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture that others can refer to.
public struct PictureReference: Sendable, Hashable {
    /// ``InputPicture/number``.
    public var number: Int64
    /// The index of a long-term reference; `nil` for a short-term one.
    public var longTermIndex: Int?

    /// Names a reference.
    public init(number: Int64, longTermIndex: Int? = nil) {
        self.number = number
        self.longTermIndex = longTermIndex
    }
}

/// How one picture is to be coded. A ``GOPPlanner`` returns them in coding order.
public struct PlannedPicture: Sendable, Hashable {
    /// What the picture may refer to, and what may refer across it.
    public enum Kind: Sendable, Hashable {
        /// An intra picture that empties the decoded picture buffer.
        case idr
        /// An intra picture at which decoding can begin; B-frames that are shown before it and coded after it may refer
        /// across it.
        case recoveryPoint
        /// Refers to pictures of list 0.
        case p
        /// Refers to pictures of list 0, shown before it, and of list 1, shown after it. Neither list is empty.
        case b
    }

    /// ``InputPicture/number``.
    public var number: Int64
    /// How many pictures the planner planned before it.
    public var codingOrder: Int64
    /// How many pictures are shown between the last IDR picture and this one, with the former: 0 for an IDR picture.
    public var displayOrder: Int64
    /// What kind of picture it is.
    public var kind: Kind
    /// Whether it is kept in the decoded picture buffer for others.
    public var isReference: Bool
    /// Its temporal layer, from 0. It refers to pictures of layer 0 only, if it is not in layer 0 itself.
    public var temporalLayer: Int
    /// The pictures that it refers to, in order; empty for intra pictures.
    public var list0: [PictureReference]
    /// The pictures shown later that a B-frame refers to, in order; empty for other kinds.
    public var list1: [PictureReference]
    /// The index under which it is kept as a long-term reference.
    public var longTermIndex: Int?
    /// The references in the decoded picture buffer after it, itself included, in coding order.
    public var retained: [PictureReference]
    /// The references that were in the decoded picture buffer before it and are not after it, in coding order. Only
    /// reference pictures drop others.
    public var dropped: [PictureReference]
    /// Numbers of those references in the decoded picture buffer before it that receivers were reported to lack: nothing
    /// refers to them any more, whatever is reported later. How long they stay is a matter of the codec.
    public var abandoned: Set<Int64>
    /// With intra refresh, which part of the wave it holds, from 0; a decoder can begin where it is 0 and shows whole
    /// pictures when the wave is through. `nil` for IDR pictures and without intra refresh.
    public var refreshPosition: Int?
}

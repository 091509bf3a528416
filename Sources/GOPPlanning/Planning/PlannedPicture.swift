// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture to which others can refer.
public struct PictureReference: Sendable, Hashable {
    /// ``InputPicture/number``.
    public var number: Int64
    /// The index of a long-term reference; `nil` for a short-term one.
    public var longTermIndex: Int?

    /// Makes a reference.
    public init(number: Int64, longTermIndex: Int? = nil) {
        self.number = number
        self.longTermIndex = longTermIndex
    }
}

/// The plan for coding one picture. A ``GOPPlanner`` returns plans in coding order.
public struct PlannedPicture: Sendable, Hashable {
    /// The kind of a picture: the pictures to which it may refer, and the pictures that may refer across it.
    public enum Kind: Sendable, Hashable {
        /// An intra picture that empties the decoded picture buffer.
        case idr
        /// An intra picture at which decoding can start; B-frames that are shown before it and coded after it may refer
        /// across it.
        case recoveryPoint
        /// A picture that refers to pictures of list 0.
        case p
        /// A picture that refers to pictures of list 0, shown before it, and of list 1, shown after it. Neither list is
        /// empty.
        case b
    }

    /// ``InputPicture/number``.
    public var number: Int64
    /// The number of pictures that were planned before it.
    public var codingOrder: Int64
    /// The number of pictures shown from the last IDR picture, inclusive, to this one, exclusive: 0 for an IDR picture.
    public var displayOrder: Int64
    /// The kind of the picture.
    public var kind: Kind
    /// Whether it is kept in the decoded picture buffer as a reference.
    public var isReference: Bool
    /// Its temporal layer, from 0. A picture above layer 0 refers only to pictures of layer 0.
    public var temporalLayer: Int
    /// The references of list 0, in order; empty for intra pictures.
    public var list0: [PictureReference]
    /// The references of list 1, which are shown after a B-frame, in order; empty for other kinds.
    public var list1: [PictureReference]
    /// The index under which it is kept as a long-term reference.
    public var longTermIndex: Int?
    /// The references in the decoded picture buffer after it, including itself, in coding order.
    public var retained: [PictureReference]
    /// The references that were in the decoded picture buffer before it but not after it, in coding order. Only
    /// reference pictures drop others.
    public var dropped: [PictureReference]
    /// The numbers of those references in the decoded picture buffer before it that receivers were reported to lack: no
    /// picture refers to them any more, whatever is reported later. The codec determines how long they stay.
    public var abandoned: Set<Int64>
    /// With intra refresh, the part of the wave that it contains, from 0. A decoder can start at part 0 and shows
    /// complete pictures at the end of the wave. `nil` for IDR pictures and without intra refresh.
    public var refreshPosition: Int?
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture on its way into a ``GOPPlanner``.
public struct InputPicture: Sendable, Hashable {
    /// Its number: rising in presentation order, with or without gaps.
    public var number: Int64
    /// Whether it has to be an IDR picture.
    public var forceKeyFrame: Bool
    /// Whether a key frame is due here for a reason that the planner does not know, such as the time since the last one.
    /// It has no effect with intra refresh.
    public var isKeyFrameDue: Bool
    /// The index under which it becomes a long-term reference, below ``GOPStructure/longTermReferences``, in place of
    /// the one that had the index; `nil` for none. Such a picture is never a B-frame.
    public var longTermIndex: Int?

    /// Makes a picture with nothing special about it unless given.
    public init(number: Int64, forceKeyFrame: Bool = false, isKeyFrameDue: Bool = false, longTermIndex: Int? = nil) {
        self.number = number
        self.forceKeyFrame = forceKeyFrame
        self.isKeyFrameDue = isKeyFrameDue
        self.longTermIndex = longTermIndex
    }
}

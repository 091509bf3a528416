// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture that is submitted to a ``GOPPlanner``.
public struct InputPicture: Sendable, Hashable {
    /// The number of the picture, increasing in presentation order, with or without gaps.
    public var number: Int64
    /// Whether it must be an IDR picture.
    public var forceKeyFrame: Bool
    /// Whether a key frame is due here for a reason that the planner does not know, such as the time since the last
    /// one. It has no effect with intra refresh.
    public var isKeyFrameDue: Bool
    /// The index under which it becomes a long-term reference, below ``GOPStructure/longTermReferences``, replacing the
    /// previous one with that index; `nil` for none. Such a picture is never a B-frame.
    public var longTermIndex: Int?

    /// Makes a picture; by default without special requirements.
    public init(number: Int64, forceKeyFrame: Bool = false, isKeyFrameDue: Bool = false, longTermIndex: Int? = nil) {
        self.number = number
        self.forceKeyFrame = forceKeyFrame
        self.isKeyFrameDue = isKeyFrameDue
        self.longTermIndex = longTermIndex
    }
}

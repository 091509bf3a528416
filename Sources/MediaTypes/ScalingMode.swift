// SPDX-License-Identifier: GPL-2.0-or-later

/// How a picture is fitted into a size of another shape.
public enum ScalingMode: String, Sendable, Hashable, CaseIterable {
    /// The whole picture is kept, with black bars where its shape differs.
    case letterbox
    /// The whole size is covered; what sticks out is cut off on both sides alike.
    case aspectFill = "aspect-fill"
    /// The picture is stretched to the size, whatever its shape.
    case stretch
}

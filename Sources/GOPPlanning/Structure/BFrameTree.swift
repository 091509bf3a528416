// SPDX-License-Identifier: GPL-2.0-or-later

/// The coding order of B-frames between two other pictures.
///
/// With a pyramid, the middle picture is coded first and is a reference for both halves, followed by the earlier half
/// and the later half. So when a non-reference picture is coded, all pictures shown before it have been coded.
enum BFrameTree {
    /// One B-frame of a group.
    struct Node: Hashable {
        /// Its position in presentation order, counted from 1.
        var position: Int
        /// Whether others refer to it.
        var isReference: Bool
        /// Whether there are B-frames shown before it and coded after it.
        var hasEarlierChildren: Bool
    }

    /// Returns the B-frames of a group in coding order.
    ///
    /// - Parameters:
    ///   - count: The number of B-frames.
    ///   - depth: The number of levels that are references.
    static func order(count: Int, depth: Int) -> [Node] {
        var nodes: [Node] = []
        place(1..<(count + 1), depth: depth, into: &nodes)
        return nodes
    }

    private static func place(_ positions: Range<Int>, depth: Int, into nodes: inout [Node]) {
        guard positions.count > 1, depth > 0 else {
            nodes += positions.map { Node(position: $0, isReference: false, hasEarlierChildren: false) }
            return
        }
        // The earlier half is the smaller one, because it determines the reorder depth.
        let middle = positions.lowerBound + (positions.count - 1) / 2
        nodes.append(Node(position: middle, isReference: true, hasEarlierChildren: middle > positions.lowerBound))
        place(positions.lowerBound..<middle, depth: depth - 1, into: &nodes)
        place((middle + 1)..<positions.upperBound, depth: depth - 1, into: &nodes)
    }

    /// Returns the maximum number of pictures of a group, including the one that follows the B-frames and is coded
    /// first, that are coded before a picture and shown after it.
    static func reorderDepth(count: Int, depth: Int) -> Int {
        let positions = [count + 1] + order(count: count, depth: depth).map(\.position)
        return positions.indices.map { index in
            positions[..<index].count { $0 > positions[index] }
        }.max() ?? 0
    }
}

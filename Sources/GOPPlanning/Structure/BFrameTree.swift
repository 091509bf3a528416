// SPDX-License-Identifier: GPL-2.0-or-later

/// The order in which B-frames between two other pictures are coded.
///
/// With a pyramid the picture in the middle comes first and is a reference for both halves, then the earlier half, then
/// the later one. So when a picture that is no reference is coded, everything shown before it has been.
enum BFrameTree {
    /// One B-frame of a group.
    struct Node: Hashable {
        /// Its place in presentation order, counted from 1.
        var position: Int
        /// Whether others refer to it.
        var isReference: Bool
        /// Whether there are B-frames shown before it and coded after it.
        var hasEarlierChildren: Bool
    }

    /// The B-frames of a group in coding order.
    ///
    /// - Parameters:
    ///   - count: how many there are.
    ///   - depth: how many levels are references.
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
        // The earlier half is the smaller one: it is what the depth of reordering depends on.
        let middle = positions.lowerBound + (positions.count - 1) / 2
        nodes.append(Node(position: middle, isReference: true, hasEarlierChildren: middle > positions.lowerBound))
        place(positions.lowerBound..<middle, depth: depth - 1, into: &nodes)
        place((middle + 1)..<positions.upperBound, depth: depth - 1, into: &nodes)
    }

    /// How many pictures of a group, with the one that follows the B-frames and is coded first, are coded before a
    /// picture and shown after it, at most.
    static func reorderDepth(count: Int, depth: Int) -> Int {
        let positions = [count + 1] + order(count: count, depth: depth).map(\.position)
        return positions.indices.map { index in
            positions[..<index].count { $0 > positions[index] }
        }.max() ?? 0
    }
}

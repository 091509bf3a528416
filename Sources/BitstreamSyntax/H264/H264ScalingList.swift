// SPDX-License-Identifier: GPL-2.0-or-later

/// A scaling list as coded: differences, the last of which may apply to all following coefficients.
public struct H264ScalingList: Hashable, Sendable {
    /// `delta_scale`, -128...127, up to the difference that makes `nextScale` zero, or one for each coefficient.
    public var deltaScale: [Int32]

    /// Makes a list of the given differences.
    public init(deltaScale: [Int32] = []) { self.deltaScale = deltaScale }

    /// Makes a list of the given factors, each 1...255, in zig-zag order; equal factors at the end need only one
    /// difference.
    public init(factors: [UInt8]) {
        deltaScale = []
        var last: UInt8 = 8
        var coded = factors[...]
        while coded.count > 1, coded.last == coded.dropLast().last { coded.removeLast() }
        for factor in coded {
            deltaScale.append(Int32(Int8(bitPattern: factor &- last)))
            last = factor
        }
        if coded.count < factors.count { deltaScale.append(Int32(Int8(bitPattern: 0 &- last))) }
    }

    /// Returns the factors of the `count` coefficients in zig-zag order; nil if the list selects the default list.
    public func factors(count: Int) -> [UInt8]? {
        var factors: [UInt8] = []
        var last: UInt8 = 8
        for delta in deltaScale.prefix(max(count, 0)) {
            let next = last &+ UInt8(truncatingIfNeeded: delta)
            if next == 0 {
                if factors.isEmpty { return nil }
                break
            }
            factors.append(next)
            last = next
        }
        factors += Array(repeating: last, count: max(count - factors.count, 0))
        return factors
    }

    // H.264 7.3.2.1.1.1
    mutating func visit(_ visitor: inout some SyntaxVisitor, coefficients: Int) throws(BitstreamError) {
        var coded = 0
        var scale: UInt8 = 8
        while scale != 0, coded < coefficients {
            try visitor.grow("delta_scale", &deltaScale, to: coded + 1, with: 0)
            try visitor.se("delta_scale[\(coded)]", &deltaScale[coded], in: -128...127)
            scale &+= UInt8(truncatingIfNeeded: deltaScale[coded])
            coded += 1
        }
        try visitor.check("count of delta_scale", deltaScale.count, in: coded...coded)
    }
}

/// The scaling lists of a parameter set: six of 16 coefficients, then two or six of 64.
public struct H264ScalingMatrix: Hashable, Sendable {
    /// The lists in the order of table 7-2; nil if `*_scaling_list_present_flag` is zero and a fall-back rule applies.
    public var lists: [H264ScalingList?]

    /// Makes a matrix of the given lists.
    public init(lists: [H264ScalingList?]) { self.lists = lists }

    // H.264 7.3.2.1.1, 7.3.2.2
    mutating func visit(_ visitor: inout some SyntaxVisitor, prefix: String, count: Int) throws(BitstreamError) {
        try visitor.resize("\(prefix)_scaling_list", &lists, to: count, with: nil)
        for index in 0..<count {
            let name = "\(prefix)_scaling_list_present_flag[\(index)]"
            try visitor.presence(name, of: &lists[index], H264ScalingList())
            try lists[index]?.visit(&visitor, coefficients: index < 6 ? 16 : 64)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// `profile_tier_level( 1, maxNumSubLayersMinus1 )` of HEVC: clause 7.3.3.
public struct HEVCProfileTierLevel: Hashable, Sendable {
    /// The profile and level of one sub-layer.
    public struct SubLayer: Hashable, Sendable {
        /// The profile, if `sub_layer_profile_present_flag` is one.
        public var profile: HEVCProfile?
        /// `sub_layer_level_idc`, 0...255, if `sub_layer_level_present_flag` is one.
        public var levelIdc: UInt32?

        /// Makes a sub-layer without profile and level.
        public init() {}
    }

    /// The profile and tier of the whole stream.
    public var general = HEVCProfile()
    /// `general_level_idc`, 0...255: thirty times the level.
    public var generalLevelIdc: UInt32 = 30
    /// The sub-layers below the highest: `sps_max_sub_layers_minus1` of them.
    public var subLayers: [SubLayer] = []

    /// Makes the Main profile, Main tier, level 1, without sub-layers.
    public init() {}

    /// The level as written in the specification: `4.1`.
    public var level: String {
        let tenths = generalLevelIdc / 3
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    // HEVC 7.3.3
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        maxSubLayersMinus1: UInt32
    ) throws(BitstreamError) {
        try general.visit(&visitor, prefix: "general", index: "")
        try visitor.u("general_level_idc", bits: 8, &generalLevelIdc)
        try visitor.resize("sub_layer", &subLayers, to: Int(maxSubLayersMinus1), with: SubLayer())
        for index in subLayers.indices {
            let profileName = "sub_layer_profile_present_flag[\(index)]"
            try visitor.presence(profileName, of: &subLayers[index].profile, HEVCProfile())
            try visitor.presence("sub_layer_level_present_flag[\(index)]", of: &subLayers[index].levelIdc, 0)
        }
        if !subLayers.isEmpty {
            for index in subLayers.count..<8 {
                try visitor.fixed("reserved_zero_2bits[\(index)]", bits: 2, 0)
            }
        }
        for index in subLayers.indices {
            try subLayers[index].profile?.visit(&visitor, prefix: "sub_layer", index: "[\(index)]")
            if var level = subLayers[index].levelIdc {
                try visitor.u("sub_layer_level_idc[\(index)]", bits: 8, &level)
                subLayers[index].levelIdc = level
            }
        }
    }
}

/// The profile, tier and constraints of a stream or a sub-layer: the 88 bits of HEVC 7.3.3 that hvcC repeats.
public struct HEVCProfile: Hashable, Sendable {
    /// The flags that distinguish profiles 4...11 (format range extensions, high throughput, screen content and those
    /// of layers).
    public struct ConstraintFlags: Hashable, Sendable {
        /// `general_max_14bit_constraint_flag`, coded for profiles 5, 9, 10 and 11 only.
        public var max14bit = false
        /// `general_max_12bit_constraint_flag`.
        public var max12bit = false
        /// `general_max_10bit_constraint_flag`.
        public var max10bit = false
        /// `general_max_8bit_constraint_flag`.
        public var max8bit = false
        /// `general_max_422chroma_constraint_flag`.
        public var max422chroma = false
        /// `general_max_420chroma_constraint_flag`.
        public var max420chroma = false
        /// `general_max_monochrome_constraint_flag`.
        public var maxMonochrome = false
        /// `general_intra_constraint_flag`.
        public var intra = false
        /// `general_one_picture_only_constraint_flag`, coded for profile 2 as well.
        public var onePictureOnly = false
        /// `general_lower_bit_rate_constraint_flag`.
        public var lowerBitRate = false

        /// Makes flags that are all false.
        public init() {}
    }

    /// `general_profile_space`, 0...3: zero in this edition.
    public var profileSpace: UInt32 = 0
    /// `general_tier_flag`: the High tier rather than the Main tier.
    public var tierFlag = false
    /// `general_profile_idc`, 0...31: 1 Main, 2 Main 10, 3 Main Still Picture, 4 format range extensions.
    public var profileIdc: UInt32 = 1
    /// `general_profile_compatibility_flag`: flag j is bit 31 - j.
    public var profileCompatibilityFlags: UInt32 = 0x6000_0000
    /// `general_progressive_source_flag`.
    public var progressiveSourceFlag = false
    /// `general_interlaced_source_flag`.
    public var interlacedSourceFlag = false
    /// `general_non_packed_constraint_flag`.
    public var nonPackedConstraintFlag = false
    /// `general_frame_only_constraint_flag`.
    public var frameOnlyConstraintFlag = false
    /// The constraints, coded for the profiles that have them.
    public var constraints = ConstraintFlags()
    /// The reserved bits before `general_inbld_flag`, 33 to 43 of them; empty if all are zero.
    public var reservedZeroBits = RawBits()
    /// `general_inbld_flag`, or the reserved bit in its place.
    public var inbldFlag = false

    /// Makes the Main profile in the Main tier, which Main 10 decoders also support.
    public init() {}

    /// Returns whether the stream conforms to profile `idc`, 0...31, by its profile or its compatibility flags.
    public func conforms(to idc: UInt32) -> Bool {
        profileIdc == idc || idc < 32 && profileCompatibilityFlags & (0x8000_0000 >> idc) != 0
    }

    /// The name of the profile: `Main 10`, `Main 4:2:2 12 Intra`; `profile 11` for one that is not named here.
    public var name: String {
        switch profileIdc {
        case 1: "Main"
        case 2: "Main 10"
        case 3: "Main Still Picture"
        case 4: rangeExtensionName
        default: "profile \(profileIdc)"
        }
    }

    // HEVC A.3.5, table A.2
    private var rangeExtensionName: String {
        let depth = constraints.max8bit ? "" : constraints.max10bit ? "10" : constraints.max12bit ? "12" : "16"
        let chroma = constraints.max420chroma ? "" : constraints.max422chroma ? "4:2:2" : "4:4:4"
        let kind = constraints.onePictureOnly ? "Still Picture" : constraints.intra ? "Intra" : ""
        let parts = constraints.maxMonochrome ? ["Monochrome", depth, kind] : ["Main", chroma, depth, kind]
        return parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        prefix: String,
        index: String
    ) throws(BitstreamError) {
        try visitor.u("\(prefix)_profile_space\(index)", bits: 2, &profileSpace)
        try visitor.flag("\(prefix)_tier_flag\(index)", &tierFlag)
        try visitor.u("\(prefix)_profile_idc\(index)", bits: 5, &profileIdc)
        for bit in 0..<32 {
            let mask: UInt32 = 0x8000_0000 >> UInt32(bit)
            var isCompatible = profileCompatibilityFlags & mask != 0
            try visitor.flag("\(prefix)_profile_compatibility_flag\(index)[\(bit)]", &isCompatible)
            profileCompatibilityFlags = profileCompatibilityFlags & ~mask | (isCompatible ? mask : 0)
        }
        try visitor.flag("\(prefix)_progressive_source_flag\(index)", &progressiveSourceFlag)
        try visitor.flag("\(prefix)_interlaced_source_flag\(index)", &interlacedSourceFlag)
        try visitor.flag("\(prefix)_non_packed_constraint_flag\(index)", &nonPackedConstraintFlag)
        try visitor.flag("\(prefix)_frame_only_constraint_flag\(index)", &frameOnlyConstraintFlag)
        try visitConstraints(&visitor, prefix: prefix, index: index)
        let lastBit = conforms(toAnyOf: [1, 2, 3, 4, 5, 9, 11]) ? "inbld_flag" : "reserved_zero_bit"
        try visitor.flag("\(prefix)_\(lastBit)\(index)", &inbldFlag)
    }

    private mutating func visitConstraints(
        _ visitor: inout some SyntaxVisitor,
        prefix: String,
        index: String
    ) throws(BitstreamError) {
        func name(_ constraint: String) -> String { "\(prefix)_\(constraint)_constraint_flag\(index)" }
        func reserved(_ bits: Int) -> String { "\(prefix)_reserved_zero_\(bits)bits\(index)" }
        if conforms(toAnyOf: Array(4...11)) {
            try visitor.flag(name("max_12bit"), &constraints.max12bit)
            try visitor.flag(name("max_10bit"), &constraints.max10bit)
            try visitor.flag(name("max_8bit"), &constraints.max8bit)
            try visitor.flag(name("max_422chroma"), &constraints.max422chroma)
            try visitor.flag(name("max_420chroma"), &constraints.max420chroma)
            try visitor.flag(name("max_monochrome"), &constraints.maxMonochrome)
            try visitor.flag(name("intra"), &constraints.intra)
            try visitor.flag(name("one_picture_only"), &constraints.onePictureOnly)
            try visitor.flag(name("lower_bit_rate"), &constraints.lowerBitRate)
            if conforms(toAnyOf: [5, 9, 10, 11]) {
                try visitor.flag(name("max_14bit"), &constraints.max14bit)
                try visitor.reservedBits(reserved(33), &reservedZeroBits, count: 33)
            } else {
                try visitor.reservedBits(reserved(34), &reservedZeroBits, count: 34)
            }
        } else if conforms(to: 2) {
            try visitor.fixed(reserved(7), bits: 7, 0)
            try visitor.flag(name("one_picture_only"), &constraints.onePictureOnly)
            try visitor.reservedBits(reserved(35), &reservedZeroBits, count: 35)
        } else {
            try visitor.reservedBits(reserved(43), &reservedZeroBits, count: 43)
        }
    }

    private func conforms(toAnyOf profiles: [UInt32]) -> Bool { profiles.contains(where: conforms(to:)) }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

extension Profile {
    /// No codec's: what processing units have (`VAProfileNone`).
    public static let none = Self(rawValue: VAProfileNone.rawValue)
}

extension Entrypoint {
    /// A unit that scales pictures and converts their format and colour (`VAEntrypointVideoProc`).
    public static let videoProcessing = Self(rawValue: VAEntrypointVideoProc.rawValue)
}

/// What the samples of a surface mean to a processing unit (`VAProcColorStandardType`).
public struct ColorStandard: RawRepresentable, Sendable, Hashable {
    /// The number of `va_vpp.h`.
    public let rawValue: UInt32

    /// Wraps a number of `va_vpp.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Not stated.
    public static let none = Self(rawValue: VAProcColorStandardNone.rawValue)
    /// BT.601.
    public static let bt601 = Self(rawValue: VAProcColorStandardBT601.rawValue)
    /// BT.709.
    public static let bt709 = Self(rawValue: VAProcColorStandardBT709.rawValue)
    /// BT.2020.
    public static let bt2020 = Self(rawValue: VAProcColorStandardBT2020.rawValue)
    /// Red, green and blue as a screen has them.
    public static let sRGB = Self(rawValue: VAProcColorStandardSRGB.rawValue)
}

/// What a driver's processing unit does without filters: a value made of what the driver said.
public struct ProcessingCapabilities: Sendable, Hashable {
    /// What it says of surfaces.
    public let surfaces: SurfaceCapabilities
    /// Formats of surfaces that it reads; empty when it does not tell them apart from those that it writes.
    public let inputFormats: [FourCC]
    /// Formats of surfaces that it writes; empty, likewise.
    public let outputFormats: [FourCC]
    /// Colour standards that it reads.
    public let inputStandards: [ColorStandard]
    /// Colour standards that it writes.
    public let outputStandards: [ColorStandard]
    /// The least width and height of a surface, at least 1.
    public let minimumSize: Int
    /// The greatest width of a surface; nil when it does not say.
    public let maximumWidth: Int?
    /// The greatest height of a surface; nil when it does not say.
    public let maximumHeight: Int?

    /// Describes a processing unit.
    public init(
        surfaces: SurfaceCapabilities,
        inputFormats: [FourCC] = [],
        outputFormats: [FourCC] = [],
        inputStandards: [ColorStandard],
        outputStandards: [ColorStandard],
        minimumSize: Int = 1,
        maximumWidth: Int? = nil,
        maximumHeight: Int? = nil
    ) {
        self.surfaces = surfaces
        self.inputFormats = inputFormats
        self.outputFormats = outputFormats
        self.inputStandards = inputStandards
        self.outputStandards = outputStandards
        self.minimumSize = minimumSize
        self.maximumWidth = maximumWidth
        self.maximumHeight = maximumHeight
    }

    /// Whether it reads surfaces of that format.
    public func reads(_ format: FourCC) -> Bool {
        (inputFormats.isEmpty ? surfaces.formats : inputFormats).contains(format)
    }

    /// Whether it writes surfaces of that format.
    public func writes(_ format: FourCC) -> Bool {
        (outputFormats.isEmpty ? surfaces.formats : outputFormats).contains(format)
    }

    /// Whether it goes from and to that standard.
    public func knows(_ standard: ColorStandard) -> Bool {
        inputStandards.contains(standard) && outputStandards.contains(standard)
    }

    init(_ caps: VAProcPipelineCaps, _ surfaces: SurfaceCapabilities) {
        /// More than `va_vpp.h` has names for; a driver that claims more is not believed.
        func list<Element>(_ start: UnsafeMutablePointer<Element>?, _ count: UInt32) -> [Element] {
            guard let start, count <= 256 else { return [] }
            return Array(UnsafeBufferPointer(start: start, count: Int(count)))
        }
        func standards(_ start: UnsafeMutablePointer<VAProcColorStandardType>?, _ count: UInt32) -> [ColorStandard] {
            list(start, count).map { ColorStandard(rawValue: $0.rawValue) }
        }
        func least(_ sizes: UInt32...) -> Int? { sizes.filter { $0 > 0 }.min().map(Int.init) }
        let minimum = [
            caps.min_input_width, caps.min_input_height, caps.min_output_width, caps.min_output_height,
        ]
        self.init(
            surfaces: surfaces,
            inputFormats: list(caps.input_pixel_format, caps.num_input_pixel_formats).map(FourCC.init),
            outputFormats: list(caps.output_pixel_format, caps.num_output_pixel_formats).map(FourCC.init),
            inputStandards: standards(caps.input_color_standards, caps.num_input_color_standards),
            outputStandards: standards(caps.output_color_standards, caps.num_output_color_standards),
            minimumSize: max(1, Int(minimum.max() ?? 1)),
            maximumWidth: least(caps.max_input_width, caps.max_output_width) ?? surfaces.maximumWidth,
            maximumHeight: least(caps.max_input_height, caps.max_output_height) ?? surfaces.maximumHeight
        )
    }
}

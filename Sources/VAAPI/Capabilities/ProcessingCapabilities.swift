// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

extension Profile {
    /// The profile of video processing, which has no codec (`VAProfileNone`).
    public static let none = Self(rawValue: VAProfileNone.rawValue)
}

extension Entrypoint {
    /// Video processing: scaling and conversion of format and colour (`VAEntrypointVideoProc`).
    public static let videoProcessing = Self(rawValue: VAEntrypointVideoProc.rawValue)
}

/// The colour standard of a surface in video processing (`VAProcColorStandardType`).
public struct ColorStandard: RawRepresentable, Sendable, Hashable {
    /// The value in `va_vpp.h`.
    public let rawValue: UInt32

    /// Wraps a value from `va_vpp.h`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Unspecified.
    public static let none = Self(rawValue: VAProcColorStandardNone.rawValue)
    /// BT.601.
    public static let bt601 = Self(rawValue: VAProcColorStandardBT601.rawValue)
    /// BT.709.
    public static let bt709 = Self(rawValue: VAProcColorStandardBT709.rawValue)
    /// BT.2020.
    public static let bt2020 = Self(rawValue: VAProcColorStandardBT2020.rawValue)
    /// sRGB, the RGB colours of a display.
    public static let sRGB = Self(rawValue: VAProcColorStandardSRGB.rawValue)
}

/// The video processing capabilities of a driver without filters, as reported by the driver.
public struct ProcessingCapabilities: Sendable, Hashable {
    /// The surface capabilities.
    public let surfaces: SurfaceCapabilities
    /// The surface formats that can be read; empty if the driver does not list input and output formats separately.
    public let inputFormats: [FourCC]
    /// The surface formats that can be written; empty if the driver does not list input and output formats separately.
    public let outputFormats: [FourCC]
    /// The colour standards that can be read.
    public let inputStandards: [ColorStandard]
    /// The colour standards that can be written.
    public let outputStandards: [ColorStandard]
    /// The minimum width and height of a surface, at least 1.
    public let minimumSize: Int
    /// The maximum width of a surface; nil if the driver does not report it.
    public let maximumWidth: Int?
    /// The maximum height of a surface; nil if the driver does not report it.
    public let maximumHeight: Int?

    /// Creates capabilities.
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

    /// Returns whether surfaces of a format can be read.
    public func reads(_ format: FourCC) -> Bool {
        (inputFormats.isEmpty ? surfaces.formats : inputFormats).contains(format)
    }

    /// Returns whether surfaces of a format can be written.
    public func writes(_ format: FourCC) -> Bool {
        (outputFormats.isEmpty ? surfaces.formats : outputFormats).contains(format)
    }

    /// Returns whether a colour standard can be both read and written.
    public func knows(_ standard: ColorStandard) -> Bool {
        inputStandards.contains(standard) && outputStandards.contains(standard)
    }

    init(_ caps: VAProcPipelineCaps, _ surfaces: SurfaceCapabilities) {
        /// An upper limit above the number of `va_vpp.h` constants, for a driver that returns an implausible count.
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

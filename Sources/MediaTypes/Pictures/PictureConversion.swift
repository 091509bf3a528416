// SPDX-License-Identifier: GPL-2.0-or-later

/// A rectangle of a picture, in luma samples.
public struct PictureArea: Sendable, Hashable {
    /// The number of samples to the left of the rectangle.
    public var x: Int
    /// The number of rows above the rectangle.
    public var y: Int
    /// The width in luma samples.
    public var width: Int
    /// The height in luma samples.
    public var height: Int

    /// Makes a rectangle; its default position is the upper left corner.
    public init(x: Int = 0, y: Int = 0, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Returns whether the rectangle is not empty and lies inside a picture of the given size.
    public func isInside(width columns: Int, height rows: Int) -> Bool {
        x >= 0 && y >= 0 && width > 0 && height > 0 && x <= columns - width && y <= rows - height
    }
}

/// A conversion of a picture to another size, format and colour description.
public struct PictureConversion: Sendable, Hashable {
    /// The visible part of the picture.
    public var source: PictureArea
    /// The part of the result that the picture fills; the area around it becomes black.
    public var target: PictureArea
    /// Whether luma and chroma are converted from the picture's matrix to the result's. Red, green and blue are always
    /// converted, by the result's matrix.
    public var changesMatrix: Bool
    /// The description of the result, with the attachments that apply to it.
    public var result: PixelBuffer.Description

    /// Makes a conversion.
    public init(source: PictureArea, target: PictureArea, changesMatrix: Bool, result: PixelBuffer.Description) {
        self.source = source
        self.target = target
        self.changesMatrix = changesMatrix
        self.result = result
    }
}

/// The conversions that an encoder performs on its device, without work on the CPU.
public struct ConversionSupport: Sendable, Hashable {
    /// The accepted formats of pictures.
    public var formats: Set<PixelFormat>
    /// The supported matrix coefficients, for the conversion to luma and chroma and between two matrices.
    public var matrices: Set<ColorDescription.Matrix>
    /// The minimum width and height of the parts that are converted.
    public var minimumSize: Int
    /// The maximum width of a picture.
    public var maximumWidth: Int
    /// The maximum height of a picture.
    public var maximumHeight: Int

    /// Makes a description of the supported conversions.
    public init(
        formats: Set<PixelFormat>,
        matrices: Set<ColorDescription.Matrix>,
        minimumSize: Int,
        maximumWidth: Int,
        maximumHeight: Int
    ) {
        self.formats = formats
        self.matrices = matrices
        self.minimumSize = minimumSize
        self.maximumWidth = maximumWidth
        self.maximumHeight = maximumHeight
    }

    /// Returns whether the encoder accepts a picture of the given kind with the given conversion. Red, green and blue
    /// must not have limited range.
    public func takes(_ picture: PixelBuffer.Description, _ conversion: PictureConversion) -> Bool {
        guard formats.contains(picture.format), picture.width <= maximumWidth, picture.height <= maximumHeight else {
            return false
        }
        let sides = [
            conversion.source.width, conversion.source.height, conversion.target.width, conversion.target.height,
        ]
        guard sides.allSatisfy({ $0 >= minimumSize }) else { return false }
        guard picture.format.isYCbCr else {
            return picture.color.range != .limited && matrices.contains(conversion.result.color.matrix)
        }
        guard conversion.changesMatrix else { return true }
        return matrices.isSuperset(of: [picture.color.matrix, conversion.result.color.matrix])
    }
}

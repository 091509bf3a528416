// SPDX-License-Identifier: GPL-2.0-or-later

/// A rectangle of a picture, in luma samples.
public struct PictureArea: Sendable, Hashable {
    /// Samples to the left of it.
    public var x: Int
    /// Rows above it.
    public var y: Int
    /// Samples in a row.
    public var width: Int
    /// Rows.
    public var height: Int

    /// Describes a rectangle; at the upper left unless stated.
    public init(x: Int = 0, y: Int = 0, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Whether it is not empty and lies in a picture of that size.
    public func isInside(width columns: Int, height rows: Int) -> Bool {
        x >= 0 && y >= 0 && width > 0 && height > 0 && x <= columns - width && y <= rows - height
    }
}

/// What has to be done to a picture to bring it to another size, format and colour.
public struct PictureConversion: Sendable, Hashable {
    /// The part of the picture that is seen.
    public var source: PictureArea
    /// The part of the result that it fills; what lies around it becomes black.
    public var target: PictureArea
    /// Whether luma and chroma are mixed anew, by the matrices of picture and result. Red, green and blue always are, by
    /// that of the result.
    public var changesMatrix: Bool
    /// What comes out, with the attachments that fit to it.
    public var result: PixelBuffer.Description

    /// Describes a conversion.
    public init(source: PictureArea, target: PictureArea, changesMatrix: Bool, result: PixelBuffer.Description) {
        self.source = source
        self.target = target
        self.changesMatrix = changesMatrix
        self.result = result
    }
}

/// What an encoder converts by itself on the way into its device, so that nothing needs to be done on the processor.
public struct ConversionSupport: Sendable, Hashable {
    /// Formats of pictures that it takes.
    public var formats: Set<PixelFormat>
    /// Matrices that luma and chroma may be made by, or be brought from one to another.
    public var matrices: Set<ColorDescription.Matrix>
    /// The least width and height of a picture and of its parts.
    public var minimumSize: Int
    /// The greatest width of a picture.
    public var maximumWidth: Int
    /// The greatest height of a picture.
    public var maximumHeight: Int

    /// Describes what an encoder converts.
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

    /// Whether a picture of that kind can be given with that conversion. Red, green and blue have to be of full range.
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

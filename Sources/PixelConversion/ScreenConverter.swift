// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibYUV
public import MediaTypes

/// Converts pictures of any format, size and colour to the pixels of a screen: B, G, R and a byte of 255, in full range.
///
/// The picture is fitted in, with black bars. Colours whose matrix is not stated are shown as BT.709. Primaries and
/// transfer characteristics are not converted, so that HDR looks pale. A converter is used by one thread at a time.
public final class ScreenConverter {
    /// The width of the results in pixels.
    public let width: Int
    /// The height of the results in pixels.
    public let height: Int
    private let converter: PixelConverter

    /// Makes a converter.
    ///
    /// - Parameters:
    ///   - width: The width of the results in pixels, even.
    ///   - height: The height of the results in pixels, even.
    /// - Throws: `invalidArgument` for a size that is odd or out of range.
    public init(width: Int, height: Int) throws(MediaError) {
        (self.width, self.height) = (width, height)
        var output = PixelBuffer.Description(format: .i420, width: width, height: height)
        output.color.matrix = .bt709
        output.color.range = .limited
        converter = try PixelConverter(output: output)
    }

    /// The bytes of a row of the results.
    public var bytesPerRow: Int { width * 4 }

    /// Returns the pixels of a picture, row by row without padding. The picture is read only during the call.
    ///
    /// - Throws: `unsupported` if the CPU cannot access the picture's samples, or if its matrix is not defined by two
    ///   coefficients; `outOfMemory`.
    public func pixels(of picture: PixelBuffer) throws(MediaError) -> [UInt8] {
        let planar = try converter.convert(picture)
        return try planar.withPlanes { (planes) throws(MediaError) in
            [UInt8](unsafeUninitializedCapacity: bytesPerRow * height) { pixels, count in
                func row(_ index: Int) -> UnsafePointer<UInt8> {
                    UnsafePointer(planes[index].baseAddress.assumingMemoryBound(to: UInt8.self))
                }
                func stride(_ index: Int) -> Int32 { Int32(planes[index].bytesPerRow) }
                // What libyuv names ARGB is a word of it, whose lowest byte comes first. H is BT.709 in limited range.
                let (luma, blue, red) = (row(0), row(1), row(2))
                let (target, step) = (pixels.baseAddress, Int32(bytesPerRow))
                let (columns, rows) = (Int32(width), Int32(height))
                H420ToARGB(luma, stride(0), blue, stride(1), red, stride(2), target, step, columns, rows)
                count = bytesPerRow * height
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What uncompressed pictures are written to. Used by one thread at a time.
package protocol PictureOutput: AnyObject {
    /// Whether it takes no further picture.
    var isComplete: Bool { get }

    /// Writes a picture.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - format: The format of its stream.
    func write(_ picture: PixelBuffer, of format: FormatDescription) throws(MediaError)

    /// Completes the output, and gives it its name. Without it, no file is left.
    ///
    /// - Returns: Its size in bytes.
    func finish() throws(MediaError) -> Int64
}

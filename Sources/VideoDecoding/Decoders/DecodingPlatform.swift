// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What differs between libavcodec's decoders on the CPU and on a GPU. Used by one thread at a time.
package protocol DecodingPlatform: AnyObject {
    /// The name of the decoder for display, for example `libavcodec 59.37.100`.
    var name: String { get }

    /// The number of pictures that were copied.
    var copiedPictures: Int { get }

    /// Sets up a decoder before it is opened: for the first sample, and again after each change of the sequence
    /// parameter sets.
    ///
    /// - Parameter context: The address of its `AVCodecContext`.
    func prepare(_ context: UnsafeMutableRawPointer, for format: FormatDescription) throws(MediaError)

    /// Makes a picture of a decoded frame.
    func picture(
        of frame: FrameReference,
        color: ColorDescription,
        pixelAspectRatio: Rational,
        attachments: PixelAttachments
    ) throws(MediaError) -> PixelBuffer

    /// Returns the error of the device or its driver because of which a call failed; `nil` if the data is to blame.
    ///
    /// - Parameter status: The status that libavcodec returned.
    func failure(_ status: Int32) -> MediaError?
}

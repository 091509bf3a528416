// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
package import MediaTypes

/// What an error message of libavcodec is about.
package enum LibraryMessage: Sendable {
    /// The data of the sample.
    case damage
    /// The device or its driver, which cannot go on.
    case failure(MediaError)
    /// Nothing that changes a picture.
    case remark
}

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
    func picture(of frame: FrameReference, _ properties: FrameProperties) throws(MediaError) -> PixelBuffer

    /// Receives each error message of libavcodec, on the thread that logs it, and returns what it is about.
    var onMessage: @Sendable (String) -> LibraryMessage { get }

    /// Whether frames become complete later than libavcodec returns them.
    var completesLater: Bool { get }

    /// Waits until the samples of a frame are complete.
    ///
    /// - Returns: The damage that the device reports; `nil` if there is none.
    func wait(for frame: FrameReference) throws(MediaError) -> String?

    /// Returns the error of the device or its driver because of which a call failed; `nil` if the data is to blame.
    ///
    /// - Parameter status: The status that libavcodec returned.
    func failure(_ status: Int32) -> MediaError?
}

extension DecodingPlatform {
    /// Blames the sample for every message.
    package var onMessage: @Sendable (String) -> LibraryMessage { { _ in .damage } }
    /// Returns `false`: a frame is complete when libavcodec returns it.
    package var completesLater: Bool { false }
    /// Returns `nil`: a frame is complete when libavcodec returns it.
    package func wait(for frame: FrameReference) throws(MediaError) -> String? { nil }
}

extension DecoderRequest {
    /// Checks that the request is for a codec.
    ///
    /// - Throws: `invalidArgument` if it is for another one.
    package func check(_ codec: VideoCodec) throws(MediaError) {
        guard formatDescription.codec != codec else { return }
        throw MediaError(
            .invalidArgument,
            "the decoder is for another codec",
            given: formatDescription.codec.rawValue,
            allowed: codec.rawValue
        )
    }
}

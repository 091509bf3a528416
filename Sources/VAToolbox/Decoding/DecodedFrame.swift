// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A decoded picture with its times, as a ``DecompressionSession`` returns it.
public struct DecodedFrame: Sendable {
    /// The picture, cropped to the size that the stream states.
    public var buffer: PixelBuffer
    /// The presentation time of its sample.
    public var presentationTime: MediaTime
    /// The display duration of its sample; ``MediaTypes/MediaTime/invalid`` if that has none.
    public var duration: MediaTime
    /// Whether its sample is a key frame.
    public var isKeyFrame: Bool
    /// Whether the picture may differ from what was encoded: the data is damaged, or that of pictures to which it refers,
    /// or these pictures are missing because decoding began after them. Decoders conceal damage as well as they can.
    /// Pictures are whole again from the next key frame or recovery point on.
    public var isDamaged: Bool
    /// The token that the caller passed with the sample.
    public var token: (any Sendable)?

    /// Makes a frame.
    public init(
        buffer: PixelBuffer,
        presentationTime: MediaTime,
        duration: MediaTime = .invalid,
        isKeyFrame: Bool = false,
        isDamaged: Bool = false,
        token: (any Sendable)? = nil
    ) {
        self.buffer = buffer
        self.presentationTime = presentationTime
        self.duration = duration
        self.isKeyFrame = isKeyFrame
        self.isDamaged = isDamaged
        self.token = token
    }
}

/// The decoded frames of a ``DecompressionSession``, in presentation order.
public typealias FrameSequence = OutputSequence<DecodedFrame>

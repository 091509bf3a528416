// SPDX-License-Identifier: GPL-2.0-or-later

/// A coded picture with its times, as a session returns it: the counterpart of `CMSampleBuffer`.
public struct SampleBuffer: Sendable {
    /// The NAL units of the access unit, each with a 32-bit big-endian length prefix. Parameter sets are in
    /// ``formatDescription`` instead. Empty if ``isDropped``.
    public var data: CodedData
    /// The presentation time.
    public var presentationTime: MediaTime
    /// The decode time: strictly increasing from sample to sample, never later than ``presentationTime``.
    public var decodeTime: MediaTime
    /// The display duration; ``MediaTime/invalid`` if the caller did not specify it.
    public var duration: MediaTime
    /// Whether decoding can start here: an IDR picture.
    public var isKeyFrame: Bool
    /// Whether other pictures refer to this one; if not, a player that is late may skip it.
    public var isReference: Bool
    /// Whether the encoder dropped this picture, for example to keep its bitrate. ``data`` is then empty.
    public var isDropped: Bool
    /// The codec, size and parameter sets that apply to this sample.
    public var formatDescription: FormatDescription
    /// Whether ``formatDescription`` differs from that of the previous sample; also true for the first sample.
    public var formatDescriptionChanged: Bool
    /// The token that the caller passed with the frame.
    public var token: (any Sendable)?

    /// Makes a sample.
    public init(
        data: CodedData,
        presentationTime: MediaTime,
        decodeTime: MediaTime,
        duration: MediaTime,
        isKeyFrame: Bool,
        isReference: Bool = true,
        isDropped: Bool = false,
        formatDescription: FormatDescription,
        formatDescriptionChanged: Bool = false,
        token: (any Sendable)? = nil
    ) {
        self.data = data
        self.presentationTime = presentationTime
        self.decodeTime = decodeTime
        self.duration = duration
        self.isKeyFrame = isKeyFrame
        self.isReference = isReference
        self.isDropped = isDropped
        self.formatDescription = formatDescription
        self.formatDescriptionChanged = formatDescriptionChanged
        self.token = token
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// One coded picture with its times, as it leaves a session: the counterpart of `CMSampleBuffer`.
public struct SampleBuffer: Sendable {
    /// The NAL units of the access unit, each behind its length as a 32-bit big-endian number. Parameter sets are not
    /// among them; they are in ``formatDescription``. Empty if ``isDropped``.
    public var data: CodedData
    /// When the picture is shown.
    public var presentationTime: MediaTime
    /// When the picture is decoded: strictly increasing from sample to sample, never after ``presentationTime``.
    public var decodeTime: MediaTime
    /// How long the picture is shown; ``MediaTime/invalid`` if the caller did not say.
    public var duration: MediaTime
    /// Whether decoding can start here: an IDR picture.
    public var isKeyFrame: Bool
    /// Whether other pictures refer to this one; if not, a player in a hurry may skip it.
    public var isReference: Bool
    /// Whether the encoder left this picture out, for example to hold its rate. Then there are no data.
    public var isDropped: Bool
    /// Codec, size and parameter sets that apply to this sample.
    public var formatDescription: FormatDescription
    /// Whether ``formatDescription`` differs from that of the sample before; also true for the first sample.
    public var formatDescriptionChanged: Bool
    /// What the caller gave along with the frame.
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

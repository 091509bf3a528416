// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// From which frame on a new encoder works in a session, and why.
///
/// The new one may be of the same kind on the same device. It begins with an IDR picture, and every frame that had not
/// come out of the one before is encoded again.
public struct EncoderSwitch: Sendable {
    /// Which encoder worked before.
    public var from: EncoderIdentity
    /// Which encoder works from here on.
    public var to: EncoderIdentity
    /// Why the encoder before was replaced on purpose; `nil` if it was not.
    public var refresh: RefreshReason?
    /// What failed since the encoder before had its last frame: that encoder, and attempts to make another one; in order.
    /// Empty for a refresh in which all went well.
    public var failures: [EncoderFailure]
    /// The number of the first frame that the new encoder codes: frames count from 0, in the order in which they are shown.
    public var frame: Int
    /// When that frame is shown.
    public var presentationTime: MediaTime
    /// How many frames are encoded again, that one included; 0 if all had come out.
    public var repeatedFrames: Int

    /// Describes a switch.
    public init(
        from: EncoderIdentity,
        to: EncoderIdentity,
        refresh: RefreshReason?,
        failures: [EncoderFailure],
        frame: Int,
        presentationTime: MediaTime,
        repeatedFrames: Int
    ) {
        self.from = from
        self.to = to
        self.refresh = refresh
        self.failures = failures
        self.frame = frame
        self.presentationTime = presentationTime
        self.repeatedFrames = repeatedFrames
    }
}

/// Why an encoder that works is replaced. The names are stable.
public enum RefreshReason: String, Sendable, Hashable, CaseIterable {
    /// ``CompressionSession/refresh()`` was called.
    case requested
    /// The system was suspended and has resumed.
    case resume
    /// A setting has changed that the encoder cannot change while it works.
    case update
    /// The first picture told what the configuration had left open, such as its colour.
    case firstPicture = "first-picture"
}

/// An encoder that failed in a session.
public struct EncoderFailure: Sendable, Hashable {
    /// Which encoder.
    public var encoder: EncoderIdentity
    /// How: with code, call and status.
    public var error: MediaError
    /// Whether it could not be made; else it failed at work.
    public var isInCreation: Bool

    /// Describes a failure.
    public init(encoder: EncoderIdentity, error: MediaError, isInCreation: Bool) {
        self.encoder = encoder
        self.error = error
        self.isInCreation = isInCreation
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The replacement of a session's encoder, with its first frame and its reason.
///
/// The new one may be of the same kind on the same device. It begins with an IDR picture, and every frame that the
/// previous encoder had not returned is encoded again.
public struct EncoderSwitch: Sendable {
    /// The previous encoder.
    public var from: EncoderIdentity
    /// The new encoder.
    public var to: EncoderIdentity
    /// Why the previous encoder was replaced on purpose; `nil` if it failed.
    public var refresh: RefreshReason?
    /// Failures since the last frame of the previous encoder, in order: of that encoder, and of attempts to create
    /// another one. Empty for a refresh without failures.
    public var failures: [EncoderFailure]
    /// The number of the new encoder's first frame, counted from 0 in presentation order.
    public var frame: Int
    /// The presentation time of that frame.
    public var presentationTime: MediaTime
    /// The number of frames that are encoded again, including that one; 0 if the previous encoder had returned all of
    /// them.
    public var repeatedFrames: Int

    /// Creates a switch.
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

/// Why a working encoder is replaced. The names are stable.
public enum RefreshReason: String, Sendable, Hashable, CaseIterable {
    /// ``CompressionSession/refresh()`` was called.
    case requested
    /// The system was suspended and has resumed.
    case resume
    /// The encoder cannot apply a changed setting while it runs.
    case update
    /// The first picture determined properties that the configuration had left open, such as the colour.
    case firstPicture = "first-picture"
}

/// An encoder that failed in a session.
public struct EncoderFailure: Sendable, Hashable {
    /// The encoder that failed.
    public var encoder: EncoderIdentity
    /// The error, with code, call and status.
    public var error: MediaError
    /// Whether its creation failed; otherwise, it failed at work.
    public var isInCreation: Bool

    /// Creates a failure.
    public init(encoder: EncoderIdentity, error: MediaError, isInCreation: Bool) {
        self.encoder = encoder
        self.error = error
        self.isInCreation = isInCreation
    }
}

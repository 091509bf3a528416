// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Which encoder a session uses, and why.
public struct EncoderDescription: Sendable {
    /// Which encoder it is.
    public var identity: EncoderIdentity
    /// Whether it works in a helper process.
    public var isInHelper: Bool
    /// What it turned out to be: profile, level, pixel formats, supported options.
    public var properties: EncoderProperties
    /// Why this one was chosen, in words for a person.
    public var reason: String
    /// Those that would have come first, and why they were not taken or, in this session, given up.
    public var rejected: [Rejection]
    /// How far its device has proved that it does what the session wants of it.
    public var proof: Proof

    /// What a device has proved by a short encode, before a session used it or in another session.
    public enum Proof: Sendable, Hashable {
        /// Nothing: the encoder works on the CPU, or ``DeviceOptions/proof`` is off.
        case notWanted
        /// The stream was whole, and showed the pictures that went in when it was decoded.
        case decoded
        /// The stream was whole, but nothing decoded it: the session has no ``DeviceOptions/verifier``.
        case read
        /// Nothing: it could not be tried, for lack of a helper program.
        case impossible(MediaError)
    }

    /// An encoder that was not taken.
    public struct Rejection: Sendable, Hashable, CustomStringConvertible {
        /// Which encoder, for example `VA-API H.264`.
        public var name: String
        /// Why not, in words for a person.
        public var reason: String
        /// What has to change, as a stable name; `nil` if that is not known.
        public var cause: MediaError.Cause?
        /// What a person can do about it, the likeliest remedy first; commands stand alone after a colon.
        public var remedies: [String]

        /// Describes a rejection.
        public init(name: String, reason: String, cause: MediaError.Cause? = nil, remedies: [String] = []) {
            self.name = name
            self.reason = reason
            self.cause = cause
            self.remedies = remedies
        }

        /// Describes a rejection for a reason that was found.
        package init(name: String, _ diagnosis: Diagnosis) {
            self.init(
                name: name,
                reason: diagnosis.explanation,
                cause: diagnosis.cause,
                remedies: diagnosis.remedies
            )
        }

        /// For example `VA-API H.264: no render node`.
        public var description: String { "\(name): \(reason)" }
    }
}

extension EncoderDescription.Proof {
    /// What a person should know who relies on it; `nil` if it is as wanted.
    var warning: String? {
        switch self {
        case .notWanted, .decoded: nil
        case .read: "its test encode was not decoded, since the session has no verifier"
        case .impossible(let error): "it was not tried before: \(error.readable)"
        }
    }
}

/// Something that happened in a session and that its owner may want to log.
public enum SessionEvent: Sendable {
    /// An encoder was created and is used from here on.
    case encoderCreated(EncoderDescription)
    /// An encoder could not be created or failed; the session tries again with the same one or with the next.
    case encoderFailed(EncoderIdentity, MediaError, framesToRepeat: Int)
    /// A new encoder, of the same kind or another, has taken over and is given its first frame.
    case encoderSwitched(EncoderSwitch)
    /// Real-time mode dropped a frame before it was accepted; the token is what its caller gave along.
    case frameDropped(presentationTime: MediaTime, token: (any Sendable)?)
    /// A setting is honoured differently from what was asked for.
    case adjusted(Adjustment)
}

/// What a session has done so far.
public struct SessionStatistics: Sendable, Hashable {
    /// Frames that were handed to an encoder.
    public var acceptedFrames = 0
    /// Samples that were queued for the consumer.
    public var codedFrames = 0
    /// Bytes of those samples.
    public var codedBytes = 0
    /// Frames that real-time mode dropped.
    public var droppedFrames = 0
    /// Frames that were encoded again because an encoder failed.
    public var repeatedFrames = 0
    /// How often a picture was copied as a whole on its way from the memory, or the file, that it lay in to where its encoder
    /// reads it: into a surface of a GPU (twice where a driver takes an image and copies that), into memory that a helper
    /// process can reach. There is none for x264 in this process, for DMA-BUFs that a driver imports, and on the way to a
    /// helper for buffers of ``CompressionSession/pixelBufferPool``; a picture that is encoded again is copied again.
    /// Conversions do not count.
    public var copiedPictures = 0
    /// Pictures that an encoder has brought to its size, format and colour by itself, as on a GPU, and not the processor.
    public var convertedByEncoder = 0
    /// Encoders that were created.
    public var createdEncoders = 0
    /// Encoders that failed, in creation or later.
    public var failedEncoders = 0
    /// How often a new encoder took over from another one, as ``SessionEvent/encoderSwitched(_:)`` tells.
    public var encoderSwitches = 0
    /// Those of ``encoderSwitches`` that were made on purpose.
    public var refreshes = 0

    /// Makes statistics of a session that has done nothing.
    public init() {}
}

// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The encoder that a session uses, with the reason for its selection.
public struct EncoderDescription: Sendable {
    /// The encoder's identity.
    public var identity: EncoderIdentity
    /// Whether it runs in a helper process.
    public var isInHelper: Bool
    /// The actual properties: profile, level, pixel formats, supported options.
    public var properties: EncoderProperties
    /// The reason for its selection, as text for users.
    public var reason: String
    /// The candidates before it, with the reasons why they were not used or were given up in this session.
    public var rejected: [Rejection]
    /// The result of its device's test encode for the settings of the session.
    public var proof: Proof

    /// Creates a description.
    package init(
        identity: EncoderIdentity,
        isInHelper: Bool,
        properties: EncoderProperties,
        reason: String,
        rejected: [Rejection],
        proof: Proof
    ) {
        (self.identity, self.isInHelper, self.properties) = (identity, isInHelper, properties)
        (self.reason, self.rejected, self.proof) = (reason, rejected, proof)
    }

    /// The result of a short test encode on a device, before a session used it or in another session.
    public enum Proof: Sendable, Hashable {
        /// No test: the encoder runs on the CPU, or ``DeviceOptions/proof`` is off.
        case notWanted
        /// The stream was complete and decoded to the source pictures.
        case decoded
        /// The stream was complete but was not decoded, because the session has no ``DeviceOptions/verifier``.
        case read
        /// No test was possible, because there is no helper program.
        case impossible(MediaError)
    }

    /// A candidate that was not used.
    public struct Rejection: Sendable, Hashable, CustomStringConvertible {
        /// The name of the encoder, for example `VA-API H.264`.
        public var name: String
        /// The reason, as text for users.
        public var reason: String
        /// What has to change, as a stable name; `nil` if that is not known.
        public var cause: MediaError.Cause?
        /// What the user can do about it, most likely remedy first; commands follow a colon.
        public var remedies: [String]

        /// Creates a rejection.
        public init(name: String, reason: String, cause: MediaError.Cause? = nil, remedies: [String] = []) {
            self.name = name
            self.reason = reason
            self.cause = cause
            self.remedies = remedies
        }

        /// Creates a rejection from a diagnosis.
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
    /// A note about a missing or incomplete test; `nil` if there is nothing to report.
    var warning: String? {
        switch self {
        case .notWanted, .decoded: nil
        case .read: "its test encode was not decoded, because the session has no verifier"
        case .impossible(let error): "no test encode was possible: \(error.readable)"
        }
    }
}

/// An event of a session, for logs.
public enum SessionEvent: Sendable {
    /// An encoder was created and is used from here on.
    case encoderCreated(EncoderDescription)
    /// An encoder could not be created or failed; the session retries with the same candidate or the next one.
    case encoderFailed(EncoderIdentity, MediaError, framesToRepeat: Int)
    /// A new encoder, of the same kind or another, has taken over and gets its first frame.
    case encoderSwitched(EncoderSwitch)
    /// Real-time mode dropped a frame before it was accepted; the token is the caller's.
    case frameDropped(presentationTime: MediaTime, token: (any Sendable)?)
    /// The picture of an accepted frame cannot be read any more, because it was left on a GPU whose driver has failed. The
    /// sample of the frame is empty (``MediaTypes/SampleBuffer/isDropped``); the encoder is kept.
    case frameLost(presentationTime: MediaTime, token: (any Sendable)?, MediaError)
    /// A setting differs from the request.
    case adjusted(Adjustment)
}

/// The counters of a session.
public struct SessionStatistics: Sendable, Hashable {
    /// Frames passed to an encoder.
    public var acceptedFrames = 0
    /// Samples that were queued for the consumer.
    public var codedFrames = 0
    /// Bytes of those samples.
    public var codedBytes = 0
    /// Frames that real-time mode dropped.
    public var droppedFrames = 0
    /// Accepted frames whose pictures could not be read, as ``SessionEvent/frameLost(presentationTime:token:_:)`` reports
    /// them. Their samples are empty.
    public var lostFrames = 0
    /// Frames that were encoded again because an encoder failed.
    public var repeatedFrames = 0
    /// Copies of whole pictures from their memory or file to where the encoder reads them: into a GPU surface (two
    /// copies if the driver needs an intermediate image) or into memory that a helper process can access. x264 in this
    /// process, DMA-BUFs that a driver imports, and the transfer of buffers of ``CompressionSession/pixelBufferPool``
    /// to a helper need none. A picture that is encoded again is copied again. Conversions do not count.
    public var copiedPictures = 0
    /// Pictures whose size, format or colour the encoder converted, as on a GPU, instead of the CPU.
    public var convertedByEncoder = 0
    /// Pictures whose size, format or colour the CPU converted for an encoder that could not.
    public var convertedByCPU = 0
    /// Encoders that were created.
    public var createdEncoders = 0
    /// Encoders that failed, in creation or later.
    public var failedEncoders = 0
    /// Encoder switches, as ``SessionEvent/encoderSwitched(_:)`` reports them.
    public var encoderSwitches = 0
    /// Those of ``encoderSwitches`` that were made on purpose.
    public var refreshes = 0

    /// Creates statistics with all counters at zero.
    public init() {}
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// An error of this package: the problem, the call that failed, the given value and the allowed values.
///
/// One type serves every layer, so that an error raised in a driver call reaches the user of a session unchanged.
public struct MediaError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error. New codes may be added, so a `switch` over codes needs a default.
    public struct Code: Sendable, Hashable, RawRepresentable, CustomStringConvertible {
        /// The stable name of the code, as used in logs and JSON.
        public let rawValue: String

        /// Makes a code with the given stable name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// A value is not allowed.
        public static let invalidArgument = Code(rawValue: "invalid-argument")
        /// The value is valid, but this encoder, driver, library or container does not support it.
        public static let unsupported = Code(rawValue: "unsupported")
        /// A requested device, library, file or encoder does not exist.
        public static let unavailable = Code(rawValue: "unavailable")
        /// An encoder could not be created.
        public static let creationFailed = Code(rawValue: "creation-failed")
        /// A frame could not be encoded.
        public static let frameFailed = Code(rawValue: "frame-failed")
        /// An encoder could not convert a picture; it can still encode others.
        public static let conversionFailed = Code(rawValue: "conversion-failed")
        /// The samples of a picture that stayed in GPU memory cannot be read any more, which is not the fault of the
        /// encoder that needs them.
        public static let pictureLost = Code(rawValue: "picture-lost")
        /// A call did not return, or a frame was not coded, before its deadline.
        public static let deadlineExceeded = Code(rawValue: "deadline-exceeded")
        /// Memory or a descriptor could not be allocated.
        public static let outOfMemory = Code(rawValue: "out-of-memory")
        /// The call is not allowed in the present state, for example `encode` after `finish`.
        public static let invalidState = Code(rawValue: "invalid-state")
        /// The work was cancelled by its owner.
        public static let cancelled = Code(rawValue: "cancelled")
        /// Media data is malformed, truncated or empty.
        public static let malformedData = Code(rawValue: "malformed-data")
        /// A device is at its session limit, or its driver has no free resources at the moment. The device works: retry
        /// later or use another one.
        public static let busy = Code(rawValue: "busy")
        /// A test encode on the device, with the real size and settings, had a wrong result; the message contains the
        /// stage and the reason.
        public static let proofFailed = Code(rawValue: "proof-failed")
        /// An output that was decoded is not what was encoded.
        public static let verificationFailed = Code(rawValue: "verification-failed")
        /// No quality of the encoder reaches the target that was asked for.
        public static let targetUnreachable = Code(rawValue: "target-unreachable")
        /// The device failed repeatedly and is suspended for a while.
        public static let suspended = Code(rawValue: "suspended")
        /// Reading or writing failed.
        public static let inputOutput = Code(rawValue: "input-output")
    }

    /// The kind of error.
    public var code: Code
    /// The description of the problem for users, without a full stop.
    public var message: String
    /// The given value, if the error is about a value.
    public var given: String?
    /// The allowed values, if the error is about a value.
    public var allowed: String?
    /// The C function or system call that failed, for example `x264_encoder_open`.
    public var call: String?
    /// The status that the call returned, or its `errno`.
    public var status: Int?
    /// Whether a retry cannot succeed. A session does not retry after a permanent error.
    public var isPermanent: Bool
    /// The cause of the error, if known; a session adds it to GPU errors.
    public var cause: Cause?
    /// The possible remedies, the most likely first; commands follow a colon.
    public var remedies: [String]

    /// Makes an error.
    ///
    /// By default, errors about values, missing features and the capabilities of a device are permanent; failed calls
    /// and busy devices are not.
    public init(
        _ code: Code,
        _ message: String,
        given: String? = nil,
        allowed: String? = nil,
        call: String? = nil,
        status: Int? = nil,
        isPermanent: Bool? = nil,
        cause: Cause? = nil,
        remedies: [String] = []
    ) {
        self.code = code
        self.message = message
        self.given = given
        self.allowed = allowed
        self.call = call
        self.status = status
        self.cause = cause
        self.remedies = remedies
        self.isPermanent =
            isPermanent ?? Self.permanentCodes.contains(code)
    }

    private static let permanentCodes: Set<Code> = [
        .invalidArgument, .unsupported, .unavailable, .invalidState, .cancelled, .proofFailed, .suspended,
        .targetUnreachable,
    ]

    /// A one-line description: message, given value, allowed values, call and status.
    public var description: String {
        var text = message
        if let given { text += ": given \(given)" }
        if let allowed { text += given == nil ? ": allowed \(allowed)" : ", allowed \(allowed)" }
        if let call {
            text += " (\(call)"
            if let status { text += " returned \(status)" }
            text += ")"
        }
        return text
    }

    /// The description for users: without the negative status numbers of libraries, which the message explains.
    package var readable: String {
        var error = self
        if let status, status < 0 { error.status = nil }
        return error.description
    }
}

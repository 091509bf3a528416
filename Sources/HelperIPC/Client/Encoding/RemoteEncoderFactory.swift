// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaTypes

/// Creates encoders that run in helper processes: a driver that crashes, aborts or hangs ends such a process and not
/// this one.
///
/// An error that the process causes is never permanent: the session tries again with a new process.
public struct RemoteEncoderFactory: EncoderFactory {
    /// The deadlines of an encoder in a helper process.
    public struct Deadlines: Sendable {
        /// The deadline for the start of the helper and its greeting.
        public var start = Duration.seconds(10)
        /// The deadline for the creation of the encoder.
        public var creation = Duration.seconds(20)
        /// The longest time without progress of the encoder during a frame, an update or the end.
        public var call = Duration.seconds(45)

        /// Creates the defaults: 10, 20 and 45 seconds, which are within the default limits of a session.
        public init() {}
    }

    /// The encoder to create in the helper.
    public let identity: EncoderIdentity
    /// The pool in which the encoders run.
    public let pool: HelperPool
    /// The deadlines of the encoders.
    public let deadlines: Deadlines
    /// Receives the logs of their helpers; `nil` leaves them to ``HelperPool/Options/log``.
    public let logger: Logger?

    /// Creates a factory.
    ///
    /// - Parameters:
    ///   - identity: The encoder's name and codec, as known to the helper; for example `x264` and H.264.
    ///   - pool: The pool in which the encoders run.
    ///   - deadlines: The deadlines of the encoders.
    ///   - logger: Receives the logs of their helpers if ``HelperPool/Options/connectionsPerHelper`` is 1; `nil` leaves
    ///     them to ``HelperPool/Options/log``. A helper that several encoders share does not indicate which encoder a
    ///     line concerns.
    public init(
        _ identity: EncoderIdentity,
        pool: HelperPool = .standard,
        deadlines: Deadlines = .init(),
        logger: Logger? = nil
    ) {
        self.identity = identity
        self.pool = pool
        self.deadlines = deadlines
        self.logger = logger
    }

    /// Creates the encoder in a helper of the pool.
    ///
    /// - Throws: `unavailable` if there is no helper program or it has no such encoder; any error of the encoder;
    ///   `deadlineExceeded`; the end of the helper, with its signal and its last log lines.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try RemoteEncoder(identity, request, deadlines) { (handlers) throws(MediaError) in
            try pool.connect(handlers, within: deadlines.start, logger: logger)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaTypes

/// Makes encoders that work in helper processes: a driver that crashes, aborts or hangs ends such a process and not this
/// one.
///
/// What such an encoder throws is never permanent because of the process: a session tries again, in a new process.
public struct RemoteEncoderFactory: EncoderFactory {
    /// How long an encoder in a helper process is waited for.
    public struct Deadlines: Sendable {
        /// How long the start of the helper and its greeting may take.
        public var start = Duration.seconds(10)
        /// How long the creation of the encoder may take.
        public var creation = Duration.seconds(20)
        /// How long the encoder may work on a frame, an update or the end without any sign of progress.
        public var call = Duration.seconds(45)

        /// Makes the defaults: 10, 20 and 45 seconds, which is within the default limits of a session.
        public init() {}
    }

    /// Which encoder the helper is asked for.
    public let identity: EncoderIdentity
    /// Where the encoders work.
    public let pool: HelperPool
    /// How long they are waited for.
    public let deadlines: Deadlines
    /// Takes what their helpers log; `nil` leaves it to ``HelperPool/Options/log``.
    public let logger: Logger?

    /// Makes a factory.
    ///
    /// - Parameters:
    ///   - identity: The encoder's name and codec, as the helper knows them; for example `x264` and H.264.
    ///   - pool: Where the encoders work.
    ///   - deadlines: How long they are waited for.
    ///   - logger: Takes what their helpers log, where ``HelperPool/Options/encodersPerHelper`` is 1; `nil` leaves it to
    ///     ``HelperPool/Options/log``. A helper that several encoders share does not say whom a line is about.
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
    /// - Throws: `unavailable` if there is no helper program or it has no such encoder; what the encoder throws;
    ///   `deadlineExceeded`; the end of the helper, with its signal and its last lines.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try RemoteEncoder(identity, request, deadlines) { (handlers) throws(MediaError) in
            try pool.connect(handlers, within: deadlines.start, logger: logger)
        }
    }
}

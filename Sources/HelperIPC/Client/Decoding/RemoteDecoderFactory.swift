// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaTypes

/// Creates decoders that run in helper processes: a driver that crashes, aborts or hangs ends such a process and not
/// this one.
///
/// Pictures arrive in shared memory, which the decoder reuses when the last reference to a picture is released. An error
/// that the process causes is never permanent: the session tries again with a new process.
public struct RemoteDecoderFactory: DecoderFactory {
    /// The deadlines of a decoder in a helper process.
    public struct Deadlines: Sendable {
        /// The deadline for the start of the helper and its greeting.
        public var start = Duration.seconds(10)
        /// The deadline for the creation of the decoder.
        public var creation = Duration.seconds(20)
        /// The longest time without progress of the decoder during a sample or the end. The time while it waits for
        /// memory does not count.
        public var call = Duration.seconds(45)
        /// The longest time that a call waits while this process holds all pictures. The call then fails with
        /// `unavailable`, permanently: this process holds more than it said. The helper is not ended.
        public var release = Duration.seconds(45)
        /// The deadline for the copy of a picture from the device to memory, and for its export, with the test of the driver
        /// before the first one. An encoder that needs the picture waits for the copy, so this is less than its own
        /// deadline.
        public var fetch = Duration.seconds(15)

        /// Creates the defaults: 10, 20, 45, 45 and 15 seconds.
        public init() {}
    }

    /// The options of the decoders.
    public struct Options: Sendable {
        /// The deadlines.
        public var deadlines = Deadlines()
        /// The maximum number of pictures in memory, 1...128: those that this process holds, and those on the way. When
        /// this process holds all of them, the decoder waits for a release.
        public var pictureLimit = 12
        /// The time after which such a wait is reported.
        public var starvationNotice = Duration.seconds(1)
        /// Receives the beginning and the end of each wait that was long enough, on any thread, also one that releases a
        /// picture. Must not block or use the decoder.
        public var starvation: @Sendable (DecoderStarvation) -> Void = { _ in }

        /// Creates the defaults: 12 pictures, no reports.
        public init() {}
    }

    /// The decoder to create in the helper.
    public let identity: DecoderIdentity
    /// The pool in which the decoders run.
    public let pool: HelperPool
    /// The options of the decoders.
    public let options: Options
    /// Receives the logs of their helpers; `nil` leaves them to ``HelperPool/Options/log``.
    public let logger: Logger?

    /// Creates a factory.
    ///
    /// - Parameters:
    ///   - identity: The decoder's name, codec and device, as known to the helper.
    ///   - pool: The pool in which the decoders run.
    ///   - options: The options of the decoders.
    ///   - logger: Receives the logs of their helpers if ``HelperPool/Options/connectionsPerHelper`` is 1; `nil` leaves
    ///     them to ``HelperPool/Options/log``.
    public init(
        _ identity: DecoderIdentity,
        pool: HelperPool = .decoding,
        options: Options = .init(),
        logger: Logger? = nil
    ) {
        self.identity = identity
        self.pool = pool
        self.options = options
        self.logger = logger
    }

    /// Creates the decoder in a helper of the pool.
    ///
    /// - Throws: `unavailable` if there is no helper program or it has no such decoder; `invalidArgument` for an option
    ///   or a codec that is out of range; any error of the decoder; `deadlineExceeded`; the end of the helper, with its
    ///   signal and its last log lines.
    public func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
        try RemoteDecoder(identity, request, options) { (handlers) throws(MediaError) in
            try pool.connect(handlers, within: options.deadlines.start, logger: logger)
        }
    }
}

/// The decoder waits because this process holds all of its pictures.
public enum DecoderStarvation: Sendable, Hashable {
    /// The decoder has waited for a while, and this process holds that many pictures.
    case began(pictures: Int)
    /// A picture was released, that long after the decoder began to wait.
    case ended(after: Duration)
}

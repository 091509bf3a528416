// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Makes encoders that work in a helper process, one process for each: a driver that crashes, aborts or hangs ends that
/// process and not this one.
///
/// What such an encoder throws is never permanent because of the process: a session tries again, in a new process.
public struct RemoteEncoderFactory: EncoderFactory {
    /// How encoders in helper processes are made.
    public struct Options: Sendable {
        /// The path of the helper program; `nil` for the one that ``HelperLocation/find(_:)`` finds.
        public var helperPath: String?
        /// How long the start of the helper and its greeting may take.
        public var startDeadline = Duration.seconds(10)
        /// How long the creation of the encoder may take.
        public var creationDeadline = Duration.seconds(20)
        /// How long the encoder may work on a frame, an update or the end without any sign of progress.
        public var callDeadline = Duration.seconds(45)
        /// Takes lines that the helper logs, on a thread of the encoder; never blocks.
        public var log: @Sendable (HelperLogLine) -> Void = { _ in }

        /// Makes the defaults: 10, 20 and 45 seconds, which is within the default limits of a session; no log.
        public init() {}
    }

    /// Which encoder the helper is asked for.
    public let identity: EncoderIdentity
    /// How it is made.
    public let options: Options

    /// Makes a factory.
    ///
    /// - Parameter identity: The encoder's name and codec, as the helper knows them; for example `x264` and H.264.
    public init(_ identity: EncoderIdentity, options: Options = .init()) {
        self.identity = identity
        self.options = options
    }

    /// Starts a helper and creates the encoder in it.
    ///
    /// - Throws: `unavailable` if there is no helper program or it has no such encoder; what the encoder throws;
    ///   `deadlineExceeded`; the end of the helper, with its signal and its last lines.
    public func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        let path = try HelperLocation.find(options.helperPath)
        return try RemoteEncoder(identity, request, options) { (handlers) throws(MediaError) in
            try HelperLink.start(path: path, handlers: handlers)
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

public import HelperIPC
public import Logging
public import MediaTypes

/// How a ``DecompressionSession`` behaves, independently of what it decodes. Values are checked when a session is
/// created.
public struct DecompressionOptions: Sendable {
    /// Which decoders may be used.
    public var policy = DevicePolicy.preferHardware
    /// The order of GPUs, and the test that a GPU must pass.
    public var devices = DeviceOptions()
    /// The helper processes for decoders on GPUs, because drivers crash, abort and hang. Sessions can share a pool. Its
    /// program is ``HelperIPC/HelperProgram/decoding``.
    public var helpers = HelperPool.decoding
    /// Whether each frame is returned as soon as it can be: the decoder does not work on several frames at a time.
    /// Frames still come in presentation order: those of a stream that reorders, or that does not state how far it does,
    /// later by as many samples as it may reorder.
    public var isLowLatency = false
    /// The order of the frames.
    ///
    /// With ``Order/decoding``, the frame of each sample comes before the next sample is needed (of two fields in samples
    /// of their own: with the second), also if an H.264 stream does not state that it reorders nothing. The decoder does
    /// not work on several frames at a time.
    ///
    /// This is for streams in which both orders are the same, as those of cameras and conferences: libavcodec, which parses
    /// the streams for GPUs as well, returns pictures in presentation order only. A stream that states that it reorders is
    /// refused with `unsupported` when the session is created or when the format changes, and the session fails with
    /// `unsupported` at a sample that is presented before its predecessor. Samples without a valid presentation time are
    /// not checked: the frame of one that is out of order may be missing, which
    /// ``DecompressionEvent/withoutFrame(presentationTime:)`` reports.
    public var order = Order.presentation
    /// The number of frames that the consumer may keep on the decoder's GPU at a time, 0...128; 0 if all frames are to be in
    /// memory. They take at most 1 GiB there (10 frames of 7680x4320 with 10 bits), so that a GPU with little memory keeps
    /// enough for encoders. Further frames are copied to memory.
    ///
    /// A frame on a GPU costs no copy if it is encoded on the same GPU and both sessions share a ``helpers`` pool whose
    /// helpers have room for both (``HelperIPC/HelperPool/Options/connectionsPerHelper``). Its samples are copied to memory
    /// when they are first accessed. ``MediaTypes/PixelBuffer/exportDMABuf()`` passes it to other users of the GPU; the
    /// exported buffer counts as the frame as long as it exists.
    ///
    /// If the helper process ends, such frames are decoded again on the CPU, from samples that are kept up to
    /// ``replayByteLimit`` from one IDR or open random access point to the next. Frames for which this is not possible, as
    /// in streams with intra refresh only, do not stay on the GPU: they are copied to memory at once, which
    /// ``DecompressionEvent/copiedFromDevice(presentationTime:_:)`` reports. Access to the samples of a frame that can be
    /// neither copied nor decoded again throws `pictureLost`.
    public var devicePictureLimit = 0
    /// How long the copy of a frame from the GPU to memory may take, 1 ms to 1 day; 15 seconds by default. Then, the frame
    /// is decoded again on the CPU. An encoder that needs the samples waits for the copy, so choose less than its
    /// ``SessionLimits/frameDeadline``; `Transcoder` uses at most a quarter of it.
    public var copyDeadline = RemoteDecoderFactory.Deadlines().fetch
    /// The number of threads for decoding on the CPU, 0...64; 0 for one per processor.
    public var threadCount = 0
    /// Whether samples to which no other refers are left out, for an overview in less time.
    public var skipsDisposableSamples = false
    /// The presentation time of the first frame to return, for exact seeking: frames before it are decoded only if others
    /// may refer to them. `nil` to return all.
    public var start: MediaTime?
    /// The frames that may wait for the consumer before ``DecompressionSession/decode(_:isShown:token:)`` waits, 1...32.
    public var waitingFrames = 8
    /// The frames that the consumer may hold at a time, 1...64, in addition to those that wait for it.
    ///
    /// A frame is held as long as anything refers to its ``DecodedFrame/buffer``. The memory of a decoder in a helper
    /// process is limited: enough for these frames and those that wait, and for what the decoder itself holds. If the
    /// consumer holds more, the decoder may have to wait for it, which ``DecompressionEvent/starvation(_:)`` reports. A
    /// decoder that has waited too long (`RemoteDecoderFactory.Deadlines.release`, 45 seconds) is given up for the next
    /// one, and finally for the CPU, whose memory is not limited. No frame is lost.
    public var heldFrames = 8
    /// Failures of a decoder before the session gives it up, unless two missed deadlines with fewer than 250 frames in
    /// between come first: attempts to create it, 1...1000, ...
    public var creationAttempts = 5
    /// ... and failures in a row without a frame in between, 1...1000.
    public var consecutiveFailures = 20
    /// The bytes of samples that are kept so that another decoder can continue, from 0; 256 MiB by default. A group of
    /// pictures beyond this size is lost with its decoder. With ``devicePictureLimit`` above 0, the limit applies to each
    /// group of which a frame is on the GPU, so that all together may take several times as much.
    public var replayByteLimit = 256 << 20
    /// Receives the logs of this session's decoders; `nil` leaves them to `MediaLog.logger`.
    public var logger: Logger?

    /// The order in which frames are returned.
    public enum Order: Sendable, Hashable {
        /// In presentation order, whatever the order of the samples.
        case presentation
        /// In decoding order, each without delay. The stream must not reorder.
        case decoding
    }

    /// The ``devicePictureLimit`` for a consumer that encodes on the same GPU: the frames that wait, and those that the
    /// deepest encoder holds. The helper limits their size to 1 GiB, which the 32 of 3840x2160 with 10 bits do not reach; of
    /// 7680x4320, 10 stay there, and the others are copied to memory.
    package static let encoderPictureLimit = 32

    /// Creates the defaults.
    public init() {}

    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(MediaError) {
        try devices.validate()
        try MediaError.check(devicePictureLimit, in: 0...128, "number of frames on a GPU")
        let durations = Duration.milliseconds(1)...Duration.seconds(86400)
        try MediaError.check(copyDeadline, in: durations, "deadline for the copy of a frame")
        try MediaError.check(threadCount, in: 0...64, "number of threads")
        try MediaError.check(waitingFrames, in: 1...32, "number of waiting frames")
        try MediaError.check(heldFrames, in: 1...64, "number of held frames")
        try MediaError.check(creationAttempts, in: 1...1000, "number of attempts to create a decoder")
        try MediaError.check(consecutiveFailures, in: 1...1000, "number of failures")
        try MediaError.check(replayByteLimit, in: 0...Int.max, "size of the samples that are kept")
        if let start, !start.isValid {
            throw MediaError(.invalidArgument, "the start is not a valid time", given: "\(start)")
        }
        let program = helpers.options.program
        if program != .decoding {
            throw MediaError(
                .invalidArgument,
                "the helpers of a decompression session must be able to decode",
                given: program.name,
                allowed: HelperProgram.decoding.name
            )
        }
    }
}

/// An event of a ``DecompressionSession``, for logs.
public enum DecompressionEvent: Sendable {
    /// A decoder was created and is used from here on.
    case decoderCreated(DecoderDescription)
    /// A decoder could not be created or failed; the session retries with the same candidate or the next one, and decodes
    /// that many samples again. Frames are lost only as ``lost(presentationTime:)`` reports.
    case decoderFailed(DecoderIdentity, MediaError, samplesToRepeat: Int)
    /// The data of a sample is damaged, or that of one of the next samples. Frames state whether they are affected.
    case damaged(presentationTime: MediaTime, MediaError)
    /// A sample has no frame of its own: its data is damaged, it is the second field of a frame, or what it refers to
    /// precedes the point where decoding began. If times are wrong, its frame may still come, after one that is presented
    /// later.
    case withoutFrame(presentationTime: MediaTime)
    /// The frame of a sample is lost, because a decoder failed and the samples to which this one refers had been
    /// released (``DecompressionOptions/replayByteLimit``).
    case lost(presentationTime: MediaTime)
    /// A decoder in a helper process waits because its consumer holds all of its pictures
    /// (``DecompressionOptions/heldFrames``), or goes on after such a wait. Waits of less than a second are not reported.
    case starvation(DecoderStarvation)
    /// A frame was copied to memory although it may stay on the GPU (``DecompressionOptions/devicePictureLimit``): it could
    /// not be decoded again if its helper process ended, for the reason that the error states. Reported for the first such
    /// frame only.
    case copiedFromDevice(presentationTime: MediaTime, MediaError)
}

/// The counters of a ``DecompressionSession``.
public struct DecompressionStatistics: Sendable, Hashable {
    /// Samples that were accepted, without ``skippedSamples``.
    public var acceptedSamples = 0
    /// Samples that were left out because no other refers to them and their frames were not wanted, and those that the encoder
    /// had dropped.
    public var skippedSamples = 0
    /// Frames that were queued for the consumer.
    public var returnedFrames = 0
    /// Frames that were decoded only because others refer to them.
    public var hiddenFrames = 0
    /// Frames with ``DecodedFrame/isDamaged``.
    public var damagedFrames = 0
    /// Samples with damaged data whose frames are wanted, as ``DecompressionEvent/damaged(presentationTime:_:)`` reports them.
    public var damagedSamples = 0
    /// Samples without a frame, as ``DecompressionEvent/withoutFrame(presentationTime:)`` reports them.
    public var samplesWithoutFrame = 0
    /// Frames that were lost, as ``DecompressionEvent/lost(presentationTime:)`` reports them.
    public var lostFrames = 0
    /// Samples that were decoded again.
    public var repeatedSamples = 0
    /// Decoders that were created.
    public var createdDecoders = 0
    /// Decoders that failed, in creation or later.
    public var failedDecoders = 0

    /// Creates statistics with all counters at zero.
    public init() {}
}

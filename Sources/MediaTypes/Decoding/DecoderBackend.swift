// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// The identity of a decoder, for lists and logs.
public struct DecoderIdentity: Sendable, Hashable, CustomStringConvertible {
    /// The decoder's name, for example `libavcodec` or `vaapi`.
    public var name: String
    /// The codec that it decodes.
    public var codec: VideoCodec
    /// The device on which it runs, for example `/dev/dri/renderD128`; `nil` for the CPU.
    public var device: String?

    /// Makes an identity.
    public init(name: String, codec: VideoCodec, device: String? = nil) {
        self.name = name
        self.codec = codec
        self.device = device
    }

    /// Whether it runs on a GPU.
    public var isHardware: Bool { device != nil }

    /// For example `libavcodec` or `vaapi on /dev/dri/renderD128`.
    public var description: String { device.map { "\(name) on \($0)" } ?? name }
}

/// A factory for decoders of one kind: one of the candidates that a session may use.
public protocol DecoderFactory: Sendable {
    /// The identity of the decoders that it makes.
    var identity: DecoderIdentity { get }

    /// Creates a decoder. A session calls it on its own thread; the call may block.
    ///
    /// - Throws: An error with ``MediaError/isPermanent`` set if a retry cannot succeed.
    func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend
}

/// The parameters for the creation of a decoder.
public struct DecoderRequest: Sendable {
    /// The format of the first sample: codec, size and parameter sets.
    public var formatDescription: FormatDescription
    /// Whether each picture is returned as soon as it can be, because its consumer waits for it. The decoder then does
    /// not hold pictures back to work on several at a time; pictures still leave in presentation order.
    public var isLowLatency: Bool
    /// The number of threads on the CPU; 0 for one per processor.
    public var threadCount: Int
    /// The number of pictures that their consumer may keep on the decoder's device at a time; 0 if all of them are to be
    /// in memory. A decoder may return pictures in memory nevertheless.
    public var devicePictureLimit: Int
    /// Receives the decoder's output. Safe to call on any thread. It waits for nothing but a copy of a picture from its device.
    public var output: @Sendable (DecoderOutput) -> Void

    /// Makes a request.
    public init(
        formatDescription: FormatDescription,
        isLowLatency: Bool = false,
        threadCount: Int = 0,
        devicePictureLimit: Int = 0,
        output: @escaping @Sendable (DecoderOutput) -> Void
    ) {
        self.formatDescription = formatDescription
        self.isLowLatency = isLowLatency
        self.threadCount = threadCount
        self.devicePictureLimit = devicePictureLimit
        self.output = output
    }
}

/// A running decoder. A session calls it from one thread at a time; every call may block.
///
/// A decoder may have its own threads, on which it calls ``DecoderRequest/output``. After an error of ``decode(_:)`` or
/// ``drain()``, or the output ``DecoderOutput/failed(_:)``, the session makes no more calls and releases it.
public protocol DecoderBackend: AnyObject {
    /// The actual properties of the decoder.
    var properties: DecoderProperties { get }

    /// The number of whole pictures that the decoder has copied, because its own memory cannot be returned. The default
    /// is 0. Called on the thread that submits samples.
    var copiedPictures: Int { get }

    /// Whether a new decoder would be better at the next random access point, although this one has not failed. The
    /// default is `false`. Called on the thread that submits samples.
    var isOutdated: Bool { get }

    /// Accepts a sample. Samples come in decoding order, the first one at a random access point. Complete pictures go
    /// to ``DecoderRequest/output``, before or after the call returns, some only in the next call or in ``pause()``.
    ///
    /// - Throws: An error of the decoder itself. A sample with damaged data is no such error; it is reported as
    ///   ``DecoderOutput/damaged(number:_:)``.
    func decode(_ sample: DecoderSample) throws(MediaError)

    /// Announces a pause in the input. When the call returns, ``DecoderRequest/output`` has received every picture that no
    /// further sample has to precede. The default does nothing: the decoder keeps no such picture.
    ///
    /// Without this call, a decoder on a device may keep the latest picture until it gets the next sample, so that nobody
    /// waits while the device works.
    ///
    /// - Throws: As ``decode(_:)``.
    func pause() throws(MediaError)

    /// Returns every picture that the decoder still holds. When the call returns, ``DecoderRequest/output`` has
    /// received all of them. The next sample must be at a random access point.
    func drain() throws(MediaError)

    /// Ends the call in progress and every later one with `cancelled`, so that nobody waits for a decoder that is stuck.
    /// The default does nothing: a call ends by itself.
    ///
    /// Safe to call on any thread, also while another one is inside a call, but not inside ``DecoderRequest/output``. It
    /// never blocks, and may be called after the decoder was released.
    var cancel: @Sendable () -> Void { get }
}

extension DecoderBackend {
    /// Returns 0: the decoder returns its own memory.
    public var copiedPictures: Int { 0 }

    /// Returns `false`.
    public var isOutdated: Bool { false }
    /// Does nothing: the decoder returns pictures as soon as it can.
    public func pause() throws(MediaError) {}
    /// Does nothing: a call ends by itself.
    public var cancel: @Sendable () -> Void { {} }
}

/// The actual properties of a decoder.
public struct DecoderProperties: Sendable, Hashable {
    /// The name and version for display, for example `libavcodec 59.37.100`.
    public var name: String
    /// The number of threads on the CPU.
    public var threadCount: Int

    /// Makes the properties of a decoder.
    public init(name: String, threadCount: Int = 1) {
        self.name = name
        self.threadCount = threadCount
    }
}

/// A sample that is submitted to a decoder.
public struct DecoderSample: Sendable {
    /// The number that the session assigned, increasing by one in decoding order; the decoder returns it with the
    /// picture.
    public var number: Int64
    /// The coded picture.
    public var sample: SampleBuffer

    /// Makes a sample.
    public init(number: Int64, sample: SampleBuffer) {
        self.number = number
        self.sample = sample
    }
}

/// The output of a decoder.
public enum DecoderOutput: Sendable {
    /// A picture is complete. Pictures leave in presentation order.
    case picture(DecodedPicture)
    /// The data of a sample is damaged. Its picture may follow nevertheless, with the damage concealed.
    ///
    /// The number is that of the first sample that may be meant, because a decoder with several threads cannot always
    /// tell which of the samples that it works on is damaged.
    case damaged(number: Int64, MediaError)
    /// The decoder is no longer usable.
    case failed(MediaError)
}

/// A picture as a decoder returns it.
public struct DecodedPicture: Sendable {
    /// The number of its sample.
    public var number: Int64
    /// The picture, cropped to the size that the parameter sets state.
    public var buffer: PixelBuffer
    /// Whether the decoder has concealed damage in it, or has decoded it without all of its references.
    public var isDamaged: Bool

    /// Makes a picture.
    public init(number: Int64, buffer: PixelBuffer, isDamaged: Bool = false) {
        self.number = number
        self.buffer = buffer
        self.isDamaged = isDamaged
    }
}

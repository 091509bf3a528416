// SPDX-License-Identifier: GPL-2.0-or-later

public import AssetWriting
public import MediaTypes
public import VAToolbox

/// What is known about a live session at a moment.
public struct LiveStatus: Sendable {
    /// The state of a session.
    public enum Phase: String, Sendable, Hashable {
        /// Its inputs are opened, and the first picture and the first sound are awaited.
        case starting
        /// It encodes.
        case running
        /// It was paused.
        case paused
        /// It ends.
        case finishing
    }

    /// The state of an input.
    public struct Input: Sendable, Hashable {
        /// Its name.
        public var name: String
        /// What it delivers; `nil` before it is opened.
        public var contents: LiveContents?
        /// Why it delivers nothing at present; `nil` while it does.
        public var error: MediaError?
        /// Why devices of a mix deliver nothing at present, by their names.
        public var missing: [String: MediaError] = [:]
        /// Whether its pictures are encoded.
        public var isActive = true
        /// The number of pictures that have come from it.
        public var pictures = 0
        /// The number of pictures that the CPU has copied out of the device's memory, so that the device could go on.
        public var copied = 0
        /// Whether the latest picture was in a DMA-BUF.
        public var isDMABuf = false
        /// The number of pictures that the device has lost.
        public var lostByDevice = 0
        /// The number of pictures that nobody took in time.
        public var lostByReader = 0
        /// The number of pictures that came too late, after one that was repeated in their place.
        public var late = 0
        /// The number of times that it, or a device of a mix, was gone.
        public var losses = 0

        /// Makes the status of an input that is not opened.
        public init(name: String) { self.name = name }
    }

    /// The state.
    public var phase = Phase.starting
    /// The inputs, in the order in which they were given.
    public var inputs: [Input] = []
    /// The encoder of the pictures at present; `nil` before the first picture.
    public var encoder: EncoderDescription?
    /// The replacements of encoders, in order.
    public var switches: [EncoderSwitch] = []
    /// The renditions, in the order of the settings; none for one encode. ``encoder`` and ``encodedPictures`` are those of the
    /// first one; pictures that were lost, copied or converted are those of all.
    public var renditions: [Rendition] = []
    /// Whether the pictures are written as the device has coded them, without an encoder.
    public var isPassedThrough = false
    /// How long the session has waited for its first picture from an input that is away, in seconds.
    public var waitedForInput = 0.0
    /// The number of pictures that were accepted by the encoder, or passed through.
    public var encodedPictures = 0
    /// The number of pictures that the encoder was too slow for.
    public var lostByEncoder = 0
    /// Copies of whole pictures on the way to the encoder, as `SessionStatistics` counts them.
    public var copiedPictures = 0
    /// The number of pictures whose size, format or colour the GPU converted.
    public var convertedByEncoder = 0
    /// The number of pictures whose size, format or colour the CPU converted.
    public var convertedByCPU = 0
    /// The number of pictures that were encoded although no input has delivered them.
    public var repeatedPictures = 0
    /// How much was written or sent.
    public var duration = MediaTime.zero
    /// Why an input, the encoder or the disk has ended the session, at its end; `nil` if it was stopped.
    public var failure: MediaError?
    /// The files that are complete.
    public var files: [AssetWriter.File] = []
    /// The path at which the recording is until it is complete.
    public var temporaryPath: String?

    /// Makes the status of a session that has not begun.
    public init() {}
}

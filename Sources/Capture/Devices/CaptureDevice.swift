// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import MediaTypes

/// A source of pictures: a camera, a screen, or a test chart.
///
/// One thread opens, reads and releases a device. It opens the device with a `StopSignal`, with which another thread
/// ends every wait.
public protocol PictureDevice: AnyObject {
    /// The pictures that the device delivers at present. A screen that changes its size, or a camera that negotiates
    /// anew, changes this before the first picture that differs.
    var stream: PictureStream { get }

    /// Waits for the next picture.
    ///
    /// Pictures that nobody has read meanwhile may be replaced with later ones; ``CapturedPicture/lostBefore`` counts
    /// them. The memory of a picture returns to the device when its buffer is released. A device with no memory left for
    /// another picture waits for that, and loses pictures.
    ///
    /// - Throws: `cancelled` after the stop signal; `unavailable` if the device is gone, as a camera that was unplugged
    ///   or a display server that has ended: another device may be opened in its place when it is back; `inputOutput`
    ///   for any other failure of the device.
    func read() throws(MediaError) -> CapturedPicture

    /// Asks the device for memory that the CPU reads fast, instead of a GPU's. It may be called before each
    /// ``read()``, and pictures in the old memory may still come. Devices with one kind of memory ignore it.
    ///
    /// - Throws: `inputOutput` if the device cannot be asked.
    func avoidDMABufs() throws(MediaError)
}

extension PictureDevice {
    /// Does nothing.
    public func avoidDMABufs() throws(MediaError) {}
}

/// A source of sound: a microphone, what the system plays, or a test tone. The rules of ``PictureDevice`` apply.
public protocol SoundDevice: AnyObject {
    /// The format of the buffers.
    var format: AudioFormat { get }

    /// Waits for the next buffer.
    ///
    /// - Throws: As ``PictureDevice/read()``.
    func read() throws(MediaError) -> CapturedSound
}

/// What a ``PictureDevice`` delivers.
public struct PictureStream: Sendable, Hashable {
    /// The width in luma samples.
    public var width: Int
    /// The height in luma samples.
    public var height: Int
    /// The frame rate that the device states, in frames per second; pictures have their own times, which may differ
    /// from it. `nil` if the device states none.
    public var frameRate: Rational?
    /// The device's name for the format of its pictures, for people, such as `MJPEG` or `BGRA`.
    public var format: String

    /// Describes pictures.
    public init(width: Int, height: Int, frameRate: Rational? = nil, format: String) {
        (self.width, self.height, self.frameRate, self.format) = (width, height, frameRate, format)
    }
}

/// A picture from a device.
public struct CapturedPicture: Sendable {
    /// The picture.
    public var buffer: PixelBuffer
    /// When it was captured, on `CLOCK_MONOTONIC`, with nanoseconds as the timescale; later than that of the previous
    /// picture.
    public var time: MediaTime
    /// The number of pictures between the previous one and this one that the device has dropped.
    public var lostBefore: Int
    /// Whether the CPU has copied the samples, because the device could not do without its memory.
    public var isCopy: Bool

    /// Makes a captured picture.
    public init(_ buffer: PixelBuffer, time: MediaTime, lostBefore: Int = 0, isCopy: Bool = false) {
        (self.buffer, self.time, self.lostBefore, self.isCopy) = (buffer, time, lostBefore, isCopy)
    }
}

/// A buffer of sound from a device.
public struct CapturedSound: Sendable {
    /// The samples; the time of the buffer is not used.
    public var buffer: AudioBuffer
    /// When the last frame was captured, on `CLOCK_MONOTONIC`, as far as the device tells: the arrival of the buffer less
    /// the latency of the device. Buffers may be late by a varying delay; `DeviceClock` removes it.
    public var arrival: MediaTime
    /// The number of frames between the previous buffer and this one that are lost.
    public var lostFrames: Int

    /// Makes a captured buffer.
    public init(_ buffer: AudioBuffer, arrival: MediaTime, lostFrames: Int = 0) {
        (self.buffer, self.arrival, self.lostFrames) = (buffer, arrival, lostFrames)
    }
}

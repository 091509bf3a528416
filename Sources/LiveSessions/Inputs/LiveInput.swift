// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import Capture
internal import MediaTimeline
public import MediaTypes

/// What an input delivers; all times are those of `CLOCK_MONOTONIC`.
public enum LiveItem: Sendable {
    /// A picture.
    case picture(CapturedPicture)
    /// A picture that the device has coded with H.264.
    case coded(CodedPicture)
    /// Sound, with the time of its first frame.
    case sound(AudioBuffer)
    /// A device of a mix is gone, and waited for.
    case lost(name: String, MediaError)
    /// A device of a mix is back.
    case back(name: String)

    /// The time at which it is due; `nil` for what has none.
    var time: MediaTime? {
        switch self {
        case .picture(let picture): picture.time
        case .coded(let picture): picture.time
        case .sound(let buffer): buffer.presentationTime
        case .lost, .back: nil
        }
    }
}

/// What an input delivers, as known when it is opened.
public struct LiveContents: Sendable, Hashable {
    /// The pictures; `nil` if there are none.
    public var pictures: PictureStream?
    /// The pixel aspect ratio of the pictures.
    public var pixelAspectRatio = Rational.one
    /// The format of the sound; `nil` if there is none.
    public var sound: AudioFormat?

    /// Describes an input.
    public init(pictures: PictureStream? = nil, sound: AudioFormat? = nil) {
        (self.pictures, self.sound) = (pictures, sound)
    }
}

/// An input of a live session: a device, or a file that is played.
public struct LiveInput: Sendable {
    /// Reads an input on a thread of its own.
    public typealias Reader = DeviceReader<LiveContents, LiveItem>

    /// The name for people, such as `x11::0`.
    public var name: String
    /// How it is read.
    public var options: Reader.Options
    /// Whether the session waits for the encoder rather than drop pictures, because the input can wait.
    public var isPatient = false
    /// The memory in which it is asked for its pictures; `nil` if there is no choice.
    public var memory: PictureMemory?
    /// Whether its pictures are coded, and written as they are.
    public var isCoded = false
    /// Ends a wait that the reader's stop signal does not reach, from any thread. It is called after that signal, and then
    /// ends all later waits of that reader, too.
    public var interrupt: @Sendable () -> Void = {}
    /// Opens it.
    public var open: Reader.Open

    /// Makes an input.
    public init(name: String, options: Reader.Options = .init(), open: @escaping Reader.Open) {
        (self.name, self.options, self.open) = (name, options, open)
    }

    /// Makes an input from a device that delivers pictures.
    ///
    /// - Parameters:
    ///   - name: The name for people.
    ///   - memory: Where the device is asked for them, if there is a choice: `open` uses its modifiers.
    ///   - open: Opens the device.
    public static func pictures(
        name: String,
        memory: PictureMemory? = nil,
        open: @escaping @Sendable (StopSignal) throws(MediaError) -> any PictureDevice
    ) -> LiveInput {
        var input = LiveInput(name: name) { stop throws(MediaError) in
            let device = try open(stop)
            let next = { () throws(MediaError) -> LiveItem? in
                if let memory, !memory.isForGPU { try device.avoidDMABufs() }
                return .picture(try device.read())
            }
            return (LiveContents(pictures: device.stream), next)
        }
        input.memory = memory
        return input
    }

    /// Makes an input from a device that codes its pictures with H.264.
    public static func codedPictures(
        name: String,
        open: @escaping @Sendable (StopSignal) throws(MediaError) -> any CodedPictureDevice
    ) -> LiveInput {
        var options = Reader.Options()
        // Some seconds: each picture that is dropped spoils others.
        options.waiting = 300
        var input = LiveInput(name: name, options: options) { stop throws(MediaError) in
            let device = try open(stop)
            return (LiveContents(pictures: device.stream), { () throws(MediaError) in .coded(try device.read()) })
        }
        input.isCoded = true
        return input
    }

    /// Makes an input from a device that delivers sound. Its clock is compared with that of the system all the time.
    public static func sound(
        name: String,
        open: @escaping @Sendable (StopSignal) throws(MediaError) -> any SoundDevice
    ) -> LiveInput {
        var options = Reader.Options()
        // Some seconds of sound, of which nothing is dropped while the session begins.
        options.waiting = 1000
        return LiveInput(name: name, options: options) { stop throws(MediaError) in
            let device = try open(stop)
            let placed = PlacedSound(device)
            return (LiveContents(sound: device.format), { () throws(MediaError) in try placed.read() })
        }
    }
}

/// Gives the buffers of a device their times.
private final class PlacedSound {
    private let device: any SoundDevice
    private var clock: DeviceClock
    private var frames: Int64 = 0

    init(_ device: any SoundDevice) {
        self.device = device
        clock = DeviceClock(ticksPerSecond: Int32(clamping: device.format.sampleRate))
    }

    func read() throws(MediaError) -> LiveItem {
        let captured = try device.read()
        let rate = Int32(clamping: captured.buffer.format.sampleRate)
        if clock.ticksPerSecond != rate { (clock, frames) = (DeviceClock(ticksPerSecond: rate), 0) }
        var buffer = captured.buffer
        frames += Int64(max(captured.lostFrames, 0))
        buffer.presentationTime = clock.place(
            position: frames,
            count: buffer.frameCount,
            arrival: captured.arrival
        )
        buffer.followsLoss = captured.lostFrames > 0
        frames += Int64(buffer.frameCount)
        return .sound(buffer)
    }
}

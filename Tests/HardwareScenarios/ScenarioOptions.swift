// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import HelperIPC
import MediaTypes
import VAToolbox

/// What the program was asked for: `NAME=VALUE` words, and `WHAT@FRAME` or `WHAT@FRAME=VALUE` for what is to happen at a
/// frame.
struct ScenarioOptions: Sendable {
    /// What happens at one frame.
    enum Action: Sendable {
        /// The session's bitrate changes before it.
        case bitRate(Int)
        /// It is a forced key frame.
        case keyFrame
        /// Its upper left quarter has a quantizer that differs by so much.
        case region(Int)
        /// It has closed captions.
        case captions
        /// It becomes that long-term reference.
        case longTermReference(Int)
        /// These frames are reported as lost.
        case lost(ClosedRange<Int64>)
        /// That frame is reported as decoded.
        case decoded(Int64)
    }

    var configuration = EncoderConfiguration(width: 176, height: 144)
    var session = SessionOptions()
    var frames = 60
    /// How many sessions there are, one after the other or some at a time.
    var sessions = 1
    var together = 1
    /// Whether those that are together wait for each other in their middle.
    var meets = false
    /// Frames or sessions after which the program says where it is and waits for a line of its input; 0 for never.
    var pause = 0
    /// What pictures are: other formats and sizes than the session's are converted.
    var pictureFormat = PixelFormat.nv12
    var pictureSize: (width: Int, height: Int)?
    /// Where pictures lie; without a wish in the session's pool, and no copy of them is kept.
    var memory: PictureMemory?
    /// How many DMA-BUFs there are.
    var buffers = 12
    /// Whether pictures show their number in large blocks, and nothing else.
    var isNumbered = false
    /// Whether they have room for whole macroblocks.
    var hasRoom = true
    /// How many bytes lie between their planes, beside that room.
    var gap = 0
    /// Whether the session is cancelled after the last frame, not finished.
    var isCancelled = false
    /// How many decoded frames may be kept on the GPU; `nil` to decode on the CPU.
    var deviceFrames: Int?
    /// How many frames the consumer keeps beside the encoders, and then reads; 0 to read none.
    var heldFrames = 0
    /// Whether the stream to decode has open groups of pictures.
    var isOpenGOP = false
    /// The codec of a stream to decode.
    var sourceCodec = CodecSelection.h264
    var actions: [Int: [Action]] = [:]

    init(_ words: [String]) throws {
        configuration.frameRate = Rational(25)
        configuration.codec = .h264
        session.policy = .requireHardware
        for word in words { try take(word) }
        if configuration.rateControl == EncoderConfiguration().rateControl {
            configuration.rateControl = .constantQuantizer(26)
        }
    }

    private mutating func take(_ word: String) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let value = parts.count == 2 ? parts[1] : ""
        let place = parts[0].split(separator: "@").map(String.init)
        if place.count == 2, let frame = Int(place[1]) {
            actions[frame, default: []].append(try Self.action(place[0], value))
        } else if try !takeNumber(parts[0], value) {
            try takeName(parts[0], value)
        }
    }

    private static func action(_ name: String, _ value: String) throws -> Action {
        let numbers = value.split(separator: "-").compactMap { Int64($0) }
        switch (name, numbers.count) {
        case ("key", 0): return .keyFrame
        case ("captions", 0): return .captions
        case ("region", _):
            guard let offset = Int(value) else { throw Wrong("no such offset: \(value)") }
            return .region(offset)
        case ("bitrate", 1): return .bitRate(Int(numbers[0]))
        case ("mark", 1): return .longTermReference(Int(numbers[0]))
        case ("lost", 2) where numbers[0] <= numbers[1]: return .lost(numbers[0]...numbers[1])
        case ("decoded", 1): return .decoded(numbers[0])
        default: throw Wrong("no such action: \(name) \(value)")
        }
    }

    private mutating func takeNumber(_ name: String, _ value: String) throws -> Bool {
        guard let number = Int(value), name != "level" else { return false }
        switch name {
        case "width": configuration.width = number
        case "height": configuration.height = number
        case "frames": frames = number
        case "device-frames": deviceFrames = number
        case "hold": heldFrames = number
        case "sessions": sessions = number
        case "together": together = max(1, number)
        case "pause": pause = number
        case "buffers": buffers = number
        case "gap": gap = number
        case "interval": configuration.keyFrameInterval = KeyFrameInterval(frames: number)
        case "refresh":
            configuration.usesIntraRefresh = true
            configuration.keyFrameInterval = KeyFrameInterval(frames: number)
        case "b-frames": configuration.bFrames = number == 0 ? .off : .maximum(number)
        case "layers": configuration.temporalLayers = number
        case "marks": configuration.longTermReferences = number
        case "depth": configuration.hardware.framesInFlight = number
        case "slices": configuration.slices = number
        case "bits": configuration.bitDepth = number
        case "average": configuration.rateControl = .averageBitRate(number, peak: .limit(number * 3 / 2))
        case "constant": configuration.rateControl = .constantBitRate(number)
        case "quantizer": configuration.rateControl = .constantQuantizer(number)
        case "largest-frame": configuration.maximumFrameSize = number
        case "creation-deadline": session.limits.creationDeadline = .milliseconds(number)
        case "creation-pause": session.limits.creationPause = .milliseconds(number)
        case "frame-deadline": session.limits.frameDeadline = .milliseconds(number)
        default: throw Wrong("no such option: \(name)")
        }
        return true
    }

    private mutating func takeName(_ name: String, _ value: String) throws {
        switch (name, value) {
        case ("codec", _):
            guard let codec = CodecSelection(rawValue: value) else { throw Wrong("no such codec: \(value)") }
            configuration.codec = codec
        case ("source", _):
            guard let codec = CodecSelection(rawValue: value) else { throw Wrong("no such codec: \(value)") }
            sourceCodec = codec
        case ("isolation", "in-process"): session.isolation = .inProcess
        case ("isolation", "process"): session.isolation = .process
        case ("policy", "hardware"): session.policy = .requireHardware
        case ("policy", "any"): session.policy = .preferHardware
        case ("policy", "software"): session.policy = .requireSoftware
        case ("preset", _):
            guard let preset = SoftwareEncoderOptions.Preset(rawValue: value) else {
                throw Wrong("no such preset: \(value)")
            }
            configuration.software.preset = preset
        case ("open-gop", "on"): isOpenGOP = true
        case ("meet", "on"): meets = true
        case ("devices", _):
            let names = value.split(separator: ",").map(String.init)
            session.policy = .devices(names.filter { $0 != "software" }, software: names.contains("software"))
        case ("format", _) where PixelFormat(rawValue: value) != nil:
            pictureFormat = PixelFormat(rawValue: value) ?? .nv12
        case ("scaling", _) where ScalingMode(rawValue: value) != nil:
            configuration.scaling = ScalingMode(rawValue: value) ?? .letterbox
        case ("size", _):
            let numbers = value.split(separator: "x").compactMap { Int($0) }
            guard numbers.count == 2 else { throw Wrong("no such size: \(value)") }
            pictureSize = (numbers[0], numbers[1])
        case ("pictures", "numbered"): isNumbered = true
        case ("memory", _) where PictureMemory(rawValue: value) != nil: memory = PictureMemory(rawValue: value)
        case ("chroma", "4:2:2"): configuration.chromaFormat = .yuv422
        case ("end", "cancel"): isCancelled = true
        case ("room", "no"): hasRoom = false
        case ("low-latency", "on"): configuration.isLowLatency = true
        case ("level", _) where H264Level(name: value) != nil || HEVCLevel(name: value) != nil:
            (configuration.h264Level, configuration.hevcLevel) = (H264Level(name: value), HEVCLevel(name: value))
        case ("interval", "none"): configuration.keyFrameInterval = KeyFrameInterval()
        default: throw Wrong("no such option: \(name)=\(value)")
        }
    }
}

/// What is wrong with the words that the program was given.
struct Wrong: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

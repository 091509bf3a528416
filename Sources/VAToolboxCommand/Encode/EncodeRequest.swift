// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

extension EncodeCommand {
    /// Returns the request of the command line.
    ///
    /// - Parameter inputIsLive: Whether the input arrives at its own pace, as from a camera through a pipe.
    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func request(inputIsLive: Bool) throws(MediaError) -> TranscodeRequest {
        try report.validateFlags()
        var request = TranscodeRequest(input: input, output: output.output)
        request.source = try source.options()
        if let decoder = source.decoder { request.decoder = try decoder.value(of: "--decoder") }
        if !output.isPlaylist { request.sink = try output.options() }
        request.first.leastPSNR = try output.verifyPsnr?.value(of: "--verify-psnr").value
        request.first.isVerified = output.verify || output.verifyPsnr != nil
        request.sink.inputPaths = [input == "-" ? "/dev/stdin" : input]
        request.video = try videoSettings()
        request.audio = try audio.settings()
        if let codec = request.sink.format?.requiredCodec {
            // An output container that supports only one codec determines the meaning of `auto`.
            let asked = request.video.base.codec
            if asked != .automatic, asked.rawValue != codec.rawValue {
                throw MediaError(
                    .invalidArgument,
                    "the output format does not support this codec",
                    given: asked.rawValue,
                    allowed: "auto, \(codec.rawValue)"
                )
            }
            request.video.base.codec = codec == .hevc ? .hevc : .h264
        }
        try stream.settle(&request.video.base)
        request.session.policy = try encoder.policy()
        try encoder.apply(to: &request.session.devices)
        if let isolation = encoder.isolation { request.session.isolation = try isolation.value(of: "--isolation") }
        if let timeout = encoder.timeout { request.session.limits.frameDeadline = try timeout.patience() }
        if encoder.singleEncoder { request.first.encoderChange = .restarts }
        if encoder.realtime {
            request.session.realTime = RealTimeMode()
            request.isPaced = !inputIsLive
        }
        try rate.applyTarget(to: &request.first, isRealTime: encoder.realtime)
        try segments.apply(to: &request, self)
        try ladder.apply(to: &request, size: picture.size?.text, rate: rate)
        return request
    }

    private func videoSettings() throws(MediaError) -> VideoSettings {
        var settings = VideoSettings()
        try stream.apply(to: &settings.base)
        try picture.apply(to: &settings)
        try encoder.apply(to: &settings.base)
        try rate.apply(to: &settings.base)
        return settings
    }
}

extension InputArguments {
    func options() throws(MediaError) -> MediaSource.Options {
        var options = MediaSource.Options(format: inputFormat, rawVideo: try rawVideo())
        options.limits = try limits.limits()
        options.start = try start?.value(of: "--start").time
        options.duration = try duration?.value(of: "--duration").time
        if let deinterlace { options.deinterlacing = try deinterlace.value(of: "--deinterlace") }
        return options
    }

    private func rawVideo() throws(MediaError) -> MediaSource.RawVideo? {
        let given = [
            ("--input-size", inputSize?.text), ("--input-fps", inputFps?.text),
            ("--input-pixel-format", inputPixelFormat),
        ].filter { $0.1 != nil }.map(\.0)
        if given.isEmpty { return nil }
        guard let inputSize, let inputFps, let inputPixelFormat else {
            throw MediaError(
                .invalidArgument,
                "the description of raw video is incomplete",
                given: given.joined(separator: " and "),
                allowed: "--input-size, --input-fps and --input-pixel-format together"
            )
        }
        let size = try inputSize.value(of: "--input-size")
        return MediaSource.RawVideo(
            pixelFormat: inputPixelFormat,
            width: size.width,
            height: size.height,
            frameRate: try inputFps.value(of: "--input-fps")
        )
    }
}

extension OutputArguments {
    func options() throws(MediaError) -> MediaSink.Options {
        if fragmented, fragmentedUntilEnd { throw contradiction("--fragmented", "--fragmented-until-end") }
        var options = try MediaSink.Options(
            path: output,
            format: format,
            isFragmented: fragmented || fragmentedUntilEnd,
            overwrite: overwrite
        )
        options.isDefragmented = fragmentedUntilEnd
        return options
    }
}

extension PictureArguments {
    func apply(to settings: inout VideoSettings) throws(MediaError) {
        switch try size?.value(of: "--size") {
        case .both(let width, let height): settings.size = (width, height)
        case .width(let width): settings.width = width
        case .height(let height): settings.height = height
        case nil: break
        }
        if let fit {
            settings.base.scaling = try fit.value(of: "--fit")
            guard size != nil else {
                throw MediaError(
                    .invalidArgument,
                    "--fit needs --size",
                    given: "--fit \(fit.text)",
                    allowed: "with --size"
                )
            }
        }
        for region in roi { settings.regionsOfInterest.append(try region.value(of: "--roi")) }
        settings.frameRate = try fps?.value(of: "--fps")
        switch try bitDepth?.value(of: "--bit-depth") {
        case .bits(let bits):
            settings.base.bitDepth = bits
            settings.keepsBitDepth = false
        case .source:
            if settings.base.profile != nil { throw contradiction("--bit-depth source", "--profile") }
            settings.mostKeptBits = 12
        case nil: settings.base.bitDepth = settings.base.profile?.maximumBitDepth ?? settings.base.bitDepth
        }
        switch try chroma?.value(of: "--chroma") {
        case .format(let format): settings.base.chromaFormat = format
        case .source:
            if settings.base.profile != nil { throw contradiction("--chroma source", "--profile") }
            settings.keepsChromaFormat = true
        case nil: settings.base.chromaFormat = settings.base.profile?.chromaFormat ?? settings.base.chromaFormat
        }
    }
}

extension StreamArguments {
    func apply(to configuration: inout EncoderConfiguration) throws(MediaError) {
        if let codec { configuration.codec = try codec.value(of: "--codec") }
        configuration.profile = try profile?.value(of: "--profile")
        if let keyFrameInterval {
            configuration.keyFrameInterval = try keyFrameInterval.value(of: "--keyframe-interval")
        }
        if let bFrames { configuration.bFrames = try bFrames.value(of: "--b-frames") }
        configuration.allowsBPyramid = !noBPyramid
        configuration.allowsOpenGOP = openGop
        if let entropy { configuration.entropyMode = try entropy.value(of: "--entropy") }
        if let slices { configuration.slices = try slices.value(of: "--slices").value }
        configuration.usesIntraRefresh = intraRefresh
        if let temporalLayers {
            configuration.temporalLayers = try temporalLayers.value(of: "--temporal-layers").value
        }
        configuration.accessUnitDelimiters = aud
    }
}

extension StreamArguments {
    /// Resolves names that exist for both codecs, now that the output has restricted the codec.
    func settle(_ configuration: inout EncoderConfiguration) throws(MediaError) {
        if configuration.codec == .hevc, configuration.profile == .h264Main { configuration.profile = .hevcMain }
        guard let level else { return }
        let named = try level.value(of: "--level")
        // If the codec is open, the level is that of the codec that is selected.
        let codec = configuration.fixedCodec
        if codec != .hevc { configuration.h264Level = named.h264 }
        if codec != .h264 { configuration.hevcLevel = named.hevc }
        guard configuration.hevcLevel == nil, configuration.h264Level == nil else { return }
        throw MediaError(
            .invalidArgument,
            "the codec does not have this level",
            given: level.text,
            allowed: codec == .hevc ? StreamLevel.hevcNames : StreamLevel.h264Names
        )
    }
}

extension EncoderArguments {
    func apply(to configuration: inout EncoderConfiguration) throws(MediaError) {
        if let preset { configuration.software.preset = try preset.value(of: "--preset") }
        configuration.software.tuning = try tune?.value(of: "--tune")
        if let threads { configuration.software.threads = try threads.value(of: "--threads").value }
        if let asm { configuration.software.instructionSet = try asm.value(of: "--asm") }
        configuration.hardware.qualityLevel = try qualityLevel?.value(of: "--quality-level").value
        if let lowPower { configuration.hardware.lowPower = try lowPower.value(of: "--low-power") }
        configuration.hardware.framesInFlight = try asyncDepth?.value(of: "--async-depth").value
        configuration.isLowLatency = lowLatency
    }

    /// The given options that apply only to CPU encoders.
    var softwareOptions: [String] {
        let given = [("--preset", preset != nil), ("--tune", tune != nil), ("--threads", threads != nil)]
        return (given + [("--asm", asm != nil)]).filter(\.1).map(\.0)
    }

    /// The given options that apply only to GPU encoders.
    var hardwareOptions: [String] {
        let given = [("--quality-level", qualityLevel != nil), ("--low-power", lowPower != nil)]
        return (given + [("--async-depth", asyncDepth != nil)]).filter(\.1).map(\.0)
    }

    /// Returns the encoders that may be used.
    func policy() throws(MediaError) -> DevicePolicy {
        try device.policy(requiringHardware: requireHardware ? "--require-hardware" : nil)
    }

    /// Applies the options for the selection of GPUs.
    func apply(to devices: inout DeviceOptions) throws(MediaError) {
        if spread { devices.placement = .spread }
        guard let maxSessions else { return }
        let count = try maxSessions.value(of: "--max-sessions").value
        guard (1...1000).contains(count) else {
            throw MediaError(
                .invalidArgument,
                "--max-sessions is out of range",
                given: "\(count)",
                allowed: "1 to 1000"
            )
        }
        devices.sessionsPerDevice = count
    }
}

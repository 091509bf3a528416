// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

extension BenchmarkEncoder {
    /// The name in a report: `x264 medium`, `renderD128 H.264 low power`.
    package var title: String {
        switch self {
        case .software(let codec, let preset): "\(codec == .h264 ? "x264" : "x265") \(preset.rawValue)"
        case .hardware(let choice):
            [
                choice.node.split(separator: "/").last.map(String.init) ?? choice.node,
                choice.codec == .h264 ? "H.264" : "HEVC", choice.isLowPower ? "low power" : "full",
                choice.qualityLevel.map { "level \($0)" } ?? "",
            ].filter { !$0.isEmpty }.joined(separator: " ")
        }
    }

    /// Returns the encoder of a report.
    ///
    /// - Parameters:
    ///   - record: The record with the session's description of the encoder.
    ///   - isFakeNode: Whether its node is simulated.
    func described(by record: StreamRecord, isFakeNode: Bool) -> BenchmarkReport.Encoder {
        let facts = record.encoder
        var settings = [
            "profile": facts.profile, "level": facts.level, "pixel format": facts.pixelFormat,
        ]
        let copies = record.streams.reduce(0) { $0 + $1.copiedPictures }
        var (entrypoint, preset): (String?, String?)
        switch self {
        case .software(_, let name):
            preset = name.rawValue
            settings["threads"] = "automatic"
            settings["options"] = facts.options
        case .hardware(let choice):
            entrypoint = choice.isLowPower ? "EncSliceLP" : "EncSlice"
            preset = choice.qualityLevel.map(String.init)
        }
        return BenchmarkReport.Encoder(
            id: title,
            kind: node == nil ? .software : .hardware,
            name: node == nil ? facts.name : "VA-API",
            codec: codec == .h264 ? "h264" : "hevc",
            device: node,
            driver: node == nil ? nil : facts.name,
            entrypoint: entrypoint,
            preset: preset,
            settings: settings,
            transfer: node == nil ? .inPlace : copies > 0 ? .upload : .zeroCopy,
            isInHelper: facts.isInHelper,
            isFakeNode: isFakeNode,
            isReferenceDriver: facts.name.contains("reference driver")
        )
    }
}

extension BenchmarkEncoder {
    /// The encoder of a report if no session was created with it.
    var undescribed: BenchmarkReport.Encoder {
        BenchmarkReport.Encoder(
            id: title,
            kind: node == nil ? .software : .hardware,
            name: node == nil ? (codec == .h264 ? "x264" : "x265") : "VA-API",
            codec: codec == .h264 ? "h264" : "hevc",
            device: node,
            settings: [:],
            transfer: node == nil ? .inPlace : .upload,
            isInHelper: node != nil
        )
    }
}

extension BenchmarkClip {
    /// The name for people: its content, or the file name without its folder.
    var name: String { text.split(separator: "/").last.map(String.init) ?? text }
}

extension PreparedClip {
    /// Returns the name in a report: `mixed-1280x720`.
    static func title(_ clip: BenchmarkClip, _ size: BenchmarkSize) -> String {
        "\(clip.name)-\(size)"
    }

    /// The clip in a report.
    var described: BenchmarkReport.Clip {
        let (source, content): (String, String?) =
            switch clip {
            case .generated(let content): ("generated", content.rawValue)
            case .file(let path): (path, nil)
            }
        return BenchmarkReport.Clip(
            id: Self.title(clip, size),
            source: source,
            content: content,
            width: size.width,
            height: size.height,
            frameRate: frameRate.text,
            frameCount: frames,
            pictureCount: loop.count < frames ? loop.count : nil,
            pixelFormat: format.rawValue,
            bitDepth: bitDepth,
            color: "\(color.isFullRange ? "full" : "limited") range, matrix \(color.matrix), "
                + "primaries \(color.primaries), transfer \(color.transfer) of H.273",
            digest: digest
        )
    }
}

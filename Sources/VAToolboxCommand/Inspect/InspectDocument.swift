// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import MediaTypes

/// What was found out about a file, for people and for programs.
struct InspectOutcome {
    /// The input of the command.
    let input: String
    let report: MediaReport

    /// The exit status of the command.
    var status: ExitStatus { report.isDamaged ? .damagedInput : .done }
}

extension InspectOutcome {
    /// The output of `inspect --json`; docs/command.md describes every key.
    var document: JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "path": .string(input),
            "format": .string(report.formatName),
            "formatName": .string(report.formatTitle),
            "startTime": JSON(report.startTime?.seconds),
            "duration": JSON(report.duration?.seconds),
            "size": JSON(report.byteCount),
            "bitRate": JSON(report.bitRate),
            "tracks": .array(report.tracks.map { .object($0.members) }),
            "chapters": .array(
                report.chapters.map { chapter in
                    .object([
                        "start": .number(chapter.start.seconds), "end": .number(chapter.end.seconds),
                        "title": JSON(chapter.title),
                    ])
                }
            ),
            "metadata": report.metadata.document,
            "problems": JSON(report.problems.map(\.text)),
        ])
    }
}

extension [(key: String, value: String)] {
    fileprivate var document: JSON {
        var pairs: JSON.KeyValuePairs = [:]
        for (key, value) in self { pairs.append(key, .string(value)) }
        return .object(pairs)
    }
}

extension TrackReport {
    fileprivate var members: JSON.KeyValuePairs {
        var members: JSON.KeyValuePairs = [
            "index": .integer(index),
            "kind": .string(kind.rawValue),
            "codec": JSON(codec),
            "codecTag": JSON(codecTag),
            "profile": JSON(profile),
            "level": JSON(level),
            "language": JSON(language),
            "title": JSON(title),
            "dispositions": JSON(dispositions),
            "startTime": JSON(startTime?.seconds),
            "duration": JSON(duration?.seconds),
            "bitRate": JSON(bitRate),
            "frameCount": JSON(frameCount),
        ]
        if let video { members.append(video.members) }
        if let audio { members.append(audio.members) }
        members.append("metadata", metadata.document)
        return members
    }
}

extension VideoProperties {
    fileprivate var members: JSON.KeyValuePairs {
        [
            "width": .integer(size.width),
            "height": .integer(size.height),
            "codedWidth": JSON(codedSize?.width),
            "codedHeight": JSON(codedSize?.height),
            "displayWidth": .integer(displaySize.width),
            "displayHeight": .integer(displaySize.height),
            "sampleAspectRatio": JSON(sampleAspectRatio.map { "\($0.numerator):\($0.denominator)" }),
            "rotation": .integer(orientation.rotation),
            "mirrored": .bool(orientation.isMirrored),
            "frameRate": JSON(frameRate?.description),
            "variableFrameRate": .bool(isVariableFrameRate),
            "pixelFormat": JSON(pixelFormat),
            "bitDepth": JSON(bitDepth),
            "chroma": JSON(chroma),
            "colorPrimaries": JSON(primaries),
            "colorTransfer": JSON(transfer),
            "colorMatrix": JSON(matrix),
            "colorRange": JSON(range),
            "dynamicRange": .string(dynamicRange.name),
            "dolbyVisionProfile": JSON(dynamicRange.profile),
            "masteringDisplay": masteringDisplay?.document ?? .null,
            "maxCLL": JSON(contentLight?.maximumContentLightLevel),
            "maxFALL": JSON(contentLight?.maximumFrameAverageLightLevel),
            "interlaced": .bool(fieldOrder != nil),
            "fieldOrder": JSON(fieldOrder?.rawValue),
            "bFrames": JSON(bFrames),
            "keyFrames": keyFrames?.document ?? .null,
            "captions": .bool(hasCaptions),
        ]
    }
}

extension VideoProperties.KeyFrames {
    fileprivate var document: JSON {
        .object([
            "examinedPictures": .integer(pictures), "count": .integer(count), "longestInterval": JSON(longestInterval),
        ])
    }
}

extension MasteringDisplay {
    /// In candela per square metre, and coordinates of CIE 1931.
    fileprivate var document: JSON {
        func point(_ value: Chromaticity) -> JSON {
            .array([.number(Double(value.x) / 50000), .number(Double(value.y) / 50000)])
        }
        return .object([
            "red": point(red), "green": point(green), "blue": point(blue), "whitePoint": point(whitePoint),
            "maximumLuminance": .number(Double(maximumLuminance) / 10000),
            "minimumLuminance": .number(Double(minimumLuminance) / 10000),
        ])
    }
}

extension AudioProperties {
    fileprivate var members: JSON.KeyValuePairs {
        [
            "sampleRate": .integer(sampleRate),
            "channels": .integer(channels),
            "layout": JSON(layout),
            "bitDepth": JSON(bitDepth),
            "priming": .integer(priming),
        ]
    }
}

extension Orientation {
    /// By how many degrees the stored pictures are turned clockwise, after they are mirrored.
    var rotation: Int {
        switch self {
        case .upright, .mirrored: 0
        case .turnedRight, .antitransposed: 90
        case .turnedAround, .flipped: 180
        case .turnedLeft, .transposed: 270
        }
    }

    /// Whether left and right of the stored pictures are exchanged.
    var isMirrored: Bool {
        switch self {
        case .upright, .turnedRight, .turnedAround, .turnedLeft: false
        case .mirrored, .flipped, .transposed, .antitransposed: true
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import LiveSessions
import MediaTypes
import Streaming
import VAToolbox

/// How a stream is doing.
struct StreamProgress: RunProgress {
    let status: StreamingSession.Status
    /// The levels for the line; `nil` for none.
    var levels: SoundLevels?

    var hasBegun: Bool { status.outputs.contains { $0.sentPictures > 0 || $0.sentAudio > 0 } }

    func line(elapsed: Double, width: Int) -> String {
        var parts = [Readable.clock(elapsed)]
        if status.session.renditions.isEmpty, let rate = status.bitRate { parts.append(Readable.bitRate(Double(rate))) }
        parts += status.session.renditions.map(\.progress)
        for output in status.outputs { parts.append(Self.text(output)) }
        if let recording = status.recording { parts.append(recording.progress) }
        if let losses = status.session.lossText { parts.append(losses) }
        if let levels, let bar = LevelBar.text(levels.take(for: .line)) { parts.append(bar) }
        return String(parts.joined(separator: "  ").prefix(max(width, 0)))
    }

    /// The state of an output in a few words, such as `rtmp://host/app/*** live 12 ms, queue 0.0 s`.
    private static func text(_ output: OutputStatus) -> String {
        var text = "\(output.title) \(output.state.name)"
        guard output.state == .live else { return text }
        if let trip = output.link?.roundTrip { text += " \(Readable.number(trip * 1000, places: 0)) ms" }
        if output.queueAge >= 0.05 { text += ", queue \(Readable.number(output.queueAge, places: 1)) s" }
        if output.drops.latePictures > 0 { text += ", dropped \(output.drops.latePictures)" }
        return text
    }

    var members: JSON.KeyValuePairs {
        [
            "phase": .string(status.session.phase.rawValue), "time": .number(status.session.duration.seconds),
            "frames": .integer(status.session.encodedPictures), "lost": status.session.lossDocument,
            "copied": status.session.copyDocument, "converted": status.session.conversionDocument,
            "repeated": .integer(status.session.repeatedPictures), "waited": .number(status.session.waitedForInput),
            "bitrate": JSON(status.bitRate), "ceiling": JSON(status.ceiling),
            "renditions": .array(status.session.renditions.map(\.document)),
            "outputs": .array(status.outputs.map(\.document)),
            "recording": status.recording?.document ?? .null,
            "inputs": .array(status.session.inputs.map(\.document)),
            "encoder": status.session.encoder.map(\.identity.document) ?? .null,
        ]
    }
}

extension OutputStatus {
    /// The address, with the rendition if there are several.
    var title: String { address + (rendition.map { " (\($0))" } ?? "") }

    /// The status of an output, for programs.
    var document: JSON {
        .object([
            "address": .string(address),
            "rendition": JSON(rendition),
            "state": .string(state.name),
            "error": JSON(state.error?.readable),
            "reconnects": .integer(reconnects),
            "connectedFor": JSON(connectedFor),
            "sentFrames": .integer(sentPictures),
            "sentAudio": .integer(sentAudio),
            "sentBytes": JSON(sentBytes),
            "rate": .integer(Int(deliveredRate)),
            "wantedBitrate": JSON(wantedBitRate),
            "queueAge": .number(queueAge),
            "queueBytes": .integer(queuedBytes),
            "roundTrip": JSON(link?.roundTrip),
            "unsentBytes": JSON(link?.unsentBytes),
            "retransmitted": JSON(link?.retransmitted),
            "droppedPackets": JSON(link?.droppedPackets),
            "droppedFrames": Self.document(drops.pictures),
            "droppedAudio": Self.document(drops.audio),
        ])
    }

    private static func document(_ counts: [DropReason: Int]) -> JSON {
        var pairs: JSON.KeyValuePairs = [:]
        for reason in DropReason.allCases { pairs.append(reason.rawValue, .integer(counts[reason] ?? 0)) }
        return .object(pairs)
    }
}

extension LiveStatus.Rendition {
    /// The bitrate and the losses in a few words, such as `720p 2.7 Mbit/s`.
    var progress: String {
        var text = settings.name
        if let bitRate { text += " \(Readable.bitRate(Double(bitRate)))" }
        if lostByEncoder > 0 { text += ", lost \(lostByEncoder)" }
        return text
    }

    /// What was encoded, for people.
    var summary: String {
        var text = "\(settings.name), \(Readable.count(encodedPictures, "frame"))"
        if lostByEncoder > 0 { text += ", \(lostByEncoder) lost" }
        if let encoder { text += ", \(encoder.identity)" }
        return text
    }

    /// The status, for programs.
    var document: JSON {
        .object([
            "name": .string(settings.name),
            "width": JSON(width),
            "height": .integer(settings.height),
            "bitrate": JSON(bitRate),
            "ceiling": JSON(ceiling),
            "frames": .integer(encodedPictures),
            "lost": .integer(lostByEncoder),
            "encoder": encoder.map(\.identity.document) ?? .null,
        ])
    }
}

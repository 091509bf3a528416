// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import CommandLineSupport
import LiveSessions
import MediaIO
import MediaTimeline
import MediaTypes
import VAToolbox

/// The result of a recording, for people and for programs.
struct RecordOutcome: FileOutcome {
    let summary: AssetWriter.Summary
    let session: LiveStatus
    let saved: [ReplayBuffer.Saved]
    let isReplay: Bool

    /// The number of pictures in all files.
    private var frameCount: Int {
        summary.files.isEmpty ? summary.file.sampleCount : summary.files.reduce(0) { $0 + $1.summary.sampleCount }
    }

    /// A recording that was ended by a signal is a success; one that a device has ended is not.
    var status: ExitStatus { session.failure == nil ? .done : .failed }
}

extension RecordOutcome {
    var warnings: [String] {
        summary.file.omissions + (session.failureText.map { [$0] } ?? [])
            + (session.lossText.map { ["pictures were \($0)"] } ?? [])
    }

    func summary(width: Int) -> String {
        var page = TextPage(width: width)
        if isReplay {
            for file in saved {
                page.entry("saved", "\(file.path), \(Readable.number(file.duration.seconds, places: 2)) s")
            }
            if saved.isEmpty { page.entry("saved", "nothing: the key s or SIGUSR1 saves a replay") }
        }
        for file in summary.files {
            let seconds = Readable.number(file.summary.duration.seconds, places: 2)
            page.entry("output", "\(file.path), \(Readable.byteCount(file.summary.byteCount)), \(seconds) s")
        }
        if let encoder = session.encoder { page.entry("encoder", "\(encoder.identity)") }
        if let switches = session.switchText { page.entry("switches", switches) }
        if session.isPassedThrough { page.entry("encoder", "none: the camera's H.264 is kept") }
        if session.encoder != nil || session.isPassedThrough { page.entry("pictures", pictures) }
        for clock in drifts { page.entry("sound", clock) }
        return page.text
    }

    private var pictures: String {
        let files = summary.files.map(\.summary.duration.seconds)
        let duration = files.isEmpty ? summary.file.duration.seconds : files.reduce(0, +)
        var text = Readable.count(frameCount, "frame")
        if duration > 0 {
            text += ", \(Readable.number(Double(frameCount) / duration, places: 2)) fps on average"
        }
        return text
    }

    private var drifts: [String] {
        summary.audio.map { placement in
            var parts: [String] = []
            if placement.inserted > 0 {
                parts.append("\(Readable.count(Int(placement.inserted), "sample")) of silence")
            }
            if placement.skipped > 0 { parts.append("\(Readable.count(Int(placement.skipped), "sample")) cut") }
            if placement.hasStretched { parts.append("the rate was adapted to the clock of the pictures") }
            return parts.isEmpty ? "in step" : parts.joined(separator: ", ")
        }
    }

    /// The output of `record --json`; docs/live.md describes every key.
    var document: JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "failure": JSON(session.failure?.readable),
            "files": .array(
                summary.files.map { file in
                    .object([
                        "path": .string(file.path),
                        "start": .number(file.start.seconds),
                        "duration": .number(file.summary.duration.seconds),
                        "bytes": JSON(file.summary.byteCount),
                        "frames": .integer(file.summary.sampleCount),
                    ])
                }
            ),
            "saved": .array(
                saved.map { .object(["path": .string($0.path), "duration": .number($0.duration.seconds)]) }
            ),
            "encoder": session.encoder.map(\.identity.document) ?? .null,
            "switches": session.switchDocument,
            "passedThrough": .bool(session.isPassedThrough),
            "inputs": .array(session.inputs.map(\.document)),
            "frames": .integer(frameCount),
            "lost": session.lossDocument,
            "copied": session.copyDocument,
            "converted": session.conversionDocument,
            "sound": .array(
                summary.audio.map { placement in
                    .object([
                        "inserted": JSON(placement.inserted), "skipped": JSON(placement.skipped),
                        "jumps": .integer(placement.jumps), "stretched": .bool(placement.hasStretched),
                    ])
                }
            ),
        ])
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import CommandLineSupport
import LiveSessions
import MediaIO
import MediaTypes
import Streaming
import VAToolbox

/// The result of a stream, for people and for programs.
struct StreamOutcome: FileOutcome {
    let summary: AssetWriter.Summary
    let session: StreamingSession.Status
    /// Whether a key, a signal or a command has ended it.
    let wasInterrupted: Bool

    /// A stream that was ended by a signal is a success; one that a device has ended, or whose recording has failed, is not.
    var status: ExitStatus {
        session.session.failure == nil && session.recording?.state.error == nil ? .done : .failed
    }

    var warnings: [String] {
        let failed = session.outputs.compactMap { output -> String? in
            guard case .failed(let error) = output.state else { return nil }
            return "\(output.title) gave up: \(error.readable)"
        }
        let recording = session.recording
        return failed + (recording?.failureText.map { [$0] } ?? []) + (recording?.file?.omissions ?? [])
            + (session.session.failureText.map { [$0] } ?? [])
            + (session.session.lossText.map { ["pictures were \($0)"] } ?? [])
    }

    func summary(width: Int) -> String {
        var page = TextPage(width: width)
        for output in session.outputs {
            var text = "\(output.title), \(Readable.count(output.sentPictures, "frame")), "
            text += Readable.byteCount(output.sentBytes)
            if output.reconnects > 0 { text += ", connected \(output.reconnects + 1) times" }
            if output.drops.latePictures > 0 { text += ", \(output.drops.latePictures) dropped" }
            page.entry("output", text)
        }
        if let text = session.recording?.summary { page.entry("recording", text) }
        for rendition in session.session.renditions { page.entry("rendition", rendition.summary) }
        if let encoder = session.session.encoder, session.session.renditions.isEmpty {
            page.entry("encoder", "\(encoder.identity)")
        }
        if let switches = session.session.switchText { page.entry("switches", switches) }
        let seconds = Readable.number(summary.file.duration.seconds, places: 2)
        page.entry("encoded", "\(Readable.count(summary.file.sampleCount, "frame")), \(seconds) s")
        return page.text
    }

    /// The output of `stream --json`; docs/live.md describes every key.
    var document: JSON {
        var members: JSON.KeyValuePairs = [
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "failure": JSON(session.session.failure?.readable),
            "interrupted": .bool(wasInterrupted),
            "encodedFrames": .integer(summary.file.sampleCount),
            "duration": .number(summary.file.duration.seconds),
            "switches": session.session.switchDocument,
        ]
        members.append(StreamProgress(status: session).members)
        return .object(members)
    }
}

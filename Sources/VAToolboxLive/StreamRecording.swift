// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import LiveSessions
import MediaIO
import MediaTypes

// The recording of a stream, for people and for programs.
extension RecordingStatus {
    /// Why there is no file, or not all of it; `nil` if nothing has failed.
    var failureText: String? {
        guard let error = state.error else { return nil }
        let absence = temporaryPath == nil ? "there is no file" : "the file has not got its name"
        let rest = file == nil ? absence : "the file has what came until then"
        return "the recording \(path) has failed, \(rest): \(error.readable)"
    }

    /// The state in a few words.
    var progress: String {
        switch state {
        case .waiting: "recording waits"
        case .recording: "recording \(Readable.clock(duration.seconds))"
        case .failed: "recording failed"
        case .finished: "recorded"
        }
    }

    /// The file; `nil` if there is none.
    var summary: String? {
        guard let file else { return nil }
        let seconds = Readable.number(file.duration.seconds, places: 2)
        return "\(path), \(Readable.byteCount(file.byteCount)), \(seconds) s"
    }

    /// The status, for programs.
    var document: JSON {
        .object([
            "path": .string(path),
            "state": .string(state.name),
            "error": JSON(state.error?.readable),
            "frames": .integer(file?.sampleCount ?? pictures),
            "duration": .number((file?.duration ?? duration).seconds),
            "bytes": JSON(file?.byteCount),
            "queueBytes": .integer(queuedBytes),
        ])
    }
}

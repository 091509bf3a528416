// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Capture
import CommandLineSupport
import LiveSessions
import MediaTypes
import VAToolbox

/// How far a recording is.
struct RecordProgress: RunProgress {
    let status: LiveStatus

    var hasBegun: Bool { status.encodedPictures > 0 || status.duration > .zero }

    func line(elapsed: Double, width: Int) -> String {
        var parts = [phase, Readable.clock(status.duration.seconds)]
        if let active = status.inputs.first(where: \.isActive), let pictures = active.contents?.pictures {
            parts.append("\(pictures.width)x\(pictures.height)")
        }
        if status.encodedPictures > 0 {
            parts.append(Readable.count(status.encodedPictures, "frame"))
            if status.duration > .zero {
                let rate = Double(status.encodedPictures) / status.duration.seconds
                parts.append("\(Readable.number(rate, places: 1)) fps")
            }
        }
        if let losses = status.lossText { parts.append(losses) }
        if !status.levels.isEmpty { parts.append(LevelBar.text(status.levels)) }
        for input in status.inputs where input.error != nil { parts.append("\(input.name) is gone") }
        return String(parts.joined(separator: "  ").prefix(max(width, 0)))
    }

    private var phase: String {
        switch status.phase {
        case .starting: "waiting for the devices"
        case .running: "recording"
        case .paused: "paused"
        case .finishing: "finishing"
        }
    }

    var members: JSON.KeyValuePairs {
        [
            "phase": .string(status.phase.rawValue), "time": .number(status.duration.seconds),
            "frames": .integer(status.encodedPictures), "lost": status.lossDocument,
            "levels": .array(status.levels.map { $0.isFinite ? .number(($0 * 10).rounded() / 10) : .null }),
            "inputs": .array(status.inputs.map(\.document)),
            "encoder": status.encoder.map(\.identity.document) ?? .null,
        ]
    }
}

extension LiveStatus {
    /// The pictures that are lost, with their reasons; `nil` if there are none.
    var lossText: String? {
        let device = inputs.reduce(0) { $0 + $1.lostByDevice }
        let reader = inputs.reduce(0) { $0 + $1.lostByReader }
        let reasons = [(device, "device"), (reader, "reader"), (lostByEncoder, "encoder")].filter { $0.0 > 0 }
        if reasons.isEmpty { return nil }
        return "lost " + reasons.map { "\($0.0) (\($0.1))" }.joined(separator: ", ")
    }

    /// The pictures that are lost, by their reasons.
    var lossDocument: JSON {
        .object([
            "device": .integer(inputs.reduce(0) { $0 + $1.lostByDevice }),
            "reader": .integer(inputs.reduce(0) { $0 + $1.lostByReader }),
            "encoder": .integer(lostByEncoder),
        ])
    }
}

extension LiveStatus.Input {
    /// The state of the input, for programs.
    var document: JSON {
        .object([
            "name": .string(name),
            "active": .bool(isActive),
            "width": JSON(contents?.pictures?.width),
            "height": JSON(contents?.pictures?.height),
            "format": JSON(contents?.pictures?.format),
            "sound": JSON(contents?.sound?.description),
            "pictures": .integer(pictures),
            "lostByDevice": .integer(lostByDevice),
            "lostByReader": .integer(lostByReader),
            "losses": .integer(losses),
            "error": JSON(error?.readable),
        ])
    }
}

/// The level of sound as a bar of characters.
enum LevelBar {
    private static let length = 12
    /// The level of an empty bar, in dBFS.
    private static let lowest = -60.0

    /// The loudest channel, such as `[########----] -12 dB`.
    static func text(_ levels: [Double]) -> String {
        let level = levels.max() ?? -.infinity
        let share = level.isFinite ? min(max(1 - level / lowest, 0), 1) : 0
        let count = Int((share * Double(length)).rounded())
        let bar = String(repeating: "#", count: count) + String(repeating: "-", count: length - count)
        return "[\(bar)] " + (level.isFinite ? "\(Readable.number(level, places: 0)) dB" : "silent")
    }
}

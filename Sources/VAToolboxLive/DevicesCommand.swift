// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import Capture
import CommandLineSupport
import MediaTypes

/// `vatoolbox devices`.
struct DevicesCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the cameras, screens and sound sources that record and stream can use.",
        discussion: """
            The first column is what --video and --audio take. What cannot be asked for its devices is listed with the reason.

            Exit status: 0, also without devices.
            """
    )

    @Flag(help: "Print one JSON document.")
    var json = false

    func list() -> ExitStatus {
        let found = FoundDevices.survey()
        let text = json ? found.document.text + "\n" : found.text
        return Terminal.write(text, to: 1) ? .done : .failed
    }
}

/// The devices of this machine.
struct FoundDevices: Sendable {
    /// A device with the argument that means it.
    struct Entry: Sendable {
        /// What `--video` or `--audio` takes.
        var argument: String
        /// What it is, for people.
        var text: String
        /// Further lines, for people.
        var details: [String] = []
    }

    /// The devices of one kind.
    struct Group: Sendable {
        /// The kind, such as `x11`.
        var kind: String
        /// What it delivers, for people.
        var title: String
        var entries: [Entry] = []
        /// Why there are none.
        var problem: MediaError?
    }

    var groups: [Group]

    /// The time that each kind of device has to answer, in milliseconds.
    private static let patience: Int32 = 5000

    static func survey() -> FoundDevices {
        FoundDevices(groups: [
            group("v4l2", "Cameras") { _ throws(MediaError) in try V4L2Camera.list().map(Entry.init) },
            group("x11", "Screens and windows of X11") { stop throws(MediaError) in
                Entry.entries(of: try X11Display.survey(stop: stop))
            },
            group("pipewire", "Cameras and screens of PipeWire") { stop throws(MediaError) in
                [.chosenScreen] + (try PipeWireNode.list(stop: stop).map(Entry.init))
            },
            group("pulse", "Sound of PulseAudio or PipeWire") { stop throws(MediaError) in
                try PulseSource.sources(stop: stop).map { Entry($0, kind: "pulse") }
            },
            group("alsa", "Sound of ALSA") { _ throws(MediaError) in
                try ALSASource.sources().filter { ALSASource.isInput($0.name) }.map { Entry($0, kind: "alsa") }
            },
            Group(
                kind: "test",
                title: "Test chart and tone",
                entries: [Entry(argument: "test", text: "flashes and beeps at every whole second")]
            ),
        ])
    }

    private static func group(
        _ kind: String,
        _ title: String,
        _ find: (StopSignal) throws(MediaError) -> [Entry]
    ) -> Group {
        var group = Group(kind: kind, title: title)
        do throws(MediaError) {
            let stop = try StopSignal()
            let isDone = try StopSignal()
            try PlainThread.start(name: "vt-patience") {
                guard (try? isDone.wait(for: [], until: patience)) != nil else { return }
                stop.stop()
            }
            defer { isDone.stop() }
            group.entries = try find(stop)
        } catch {
            group.problem =
                error.code == .cancelled
                ? MediaError(.deadlineExceeded, "it does not answer", given: "\(patience / 1000) s") : error
        }
        return group
    }

    /// The devices for people.
    var text: String {
        var text = ""
        for group in groups {
            text += "\(group.title)\n"
            let width = min(group.entries.map(\.argument.count).max() ?? 0, 48)
            for entry in group.entries {
                let padding = String(repeating: " ", count: max(width - entry.argument.count, 0))
                text += "  \(entry.argument)\(padding)  \(Readable.oneLine(entry.text))\n"
                for detail in entry.details { text += "      \(Readable.oneLine(detail))\n" }
            }
            if let problem = group.problem {
                text += "  none: \(Readable.oneLine(problem.readable))\n"
                for remedy in problem.remedies { text += "      try: \(Readable.oneLine(remedy))\n" }
            } else if group.entries.isEmpty {
                text += "  none\n"
            }
        }
        return text
    }

    /// The devices for programs; docs/live.md describes every key.
    var document: JSON {
        .object([
            "kinds": .array(
                groups.map { group in
                    .object([
                        "kind": .string(group.kind),
                        "title": .string(group.title),
                        "devices": .array(
                            group.entries.map { entry in
                                .object([
                                    "argument": .string(entry.argument), "text": .string(entry.text),
                                    "details": JSON(entry.details),
                                ])
                            }
                        ),
                        "problem": JSON(group.problem?.readable),
                        "remedies": JSON(group.problem?.remedies ?? []),
                    ])
                }
            )
        ])
    }
}

extension FoundDevices.Entry {
    /// A camera.
    fileprivate init(_ camera: V4L2Camera.Device) {
        argument = "v4l2:\(camera.path)"
        text = "\(camera.name) (\(camera.driver), \(camera.bus))"
        if let problem = camera.problem { details.append("cannot be used: \(problem.readable)") }
        for format in camera.formats {
            details.append("\(format.code): \(format.sizes.map(\.description).joined(separator: ", "))")
        }
        let controls = camera.controls.filter { !$0.isReadOnly }.map {
            "\($0.key) \($0.range.lowerBound)...\($0.range.upperBound)"
        }
        if !controls.isEmpty { details.append("controls: \(controls.joined(separator: ", "))") }
    }

    /// What the desktop portal gives.
    fileprivate static let chosenScreen = Self(
        argument: "pipewire",
        text: "the monitor or window that you choose in a dialog of the desktop, also of Wayland"
    )

    /// A source of pictures of PipeWire.
    fileprivate init(_ node: PipeWireNode) {
        argument = "pipewire:\(node.id)"
        text = "\(node.description), \(node.mediaClass == "Stream/Output/Video" ? "pictures of a program" : "a camera")"
        if !node.name.isEmpty {
            details.append("also, as long as the name is unique: pipewire:\(node.name.replacing(",", with: "\\,"))")
        }
    }

    /// A source of sound.
    fileprivate init(_ source: SoundSourceDescription, kind: String) {
        argument = "\(kind):\(source.name.replacing(",", with: "\\,"))"
        var text = source.text
        if source.isDefault { text += " (default)" }
        if source.isDefaultMonitor { text += " (what the system plays: \(kind):monitor)" }
        if let format = source.format { text += ", \(format)" }
        self.text = text
    }

    /// A display with its monitors and windows.
    fileprivate static func entries(of display: X11Display) -> [Self] {
        let base = "x11:\(display.name)"
        var entries = [Self(argument: base, text: "the whole screen, \(display.width)x\(display.height)")]
        for monitor in display.monitors {
            var text = "\(monitor.width)x\(monitor.height)+\(monitor.x)+\(monitor.y)"
            if monitor.isPrimary { text += ", primary" }
            entries.append(Self(argument: "\(base),monitor=\(monitor.name)", text: text))
        }
        for window in display.windows where window.isVisible {
            let number = "0x" + String(window.identifier, radix: 16)
            entries.append(
                Self(argument: "\(base),window=\(number)", text: "\(window.title), \(window.width)x\(window.height)")
            )
        }
        return entries
    }
}

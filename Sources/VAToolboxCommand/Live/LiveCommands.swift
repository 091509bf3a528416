// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport

extension SiblingProgram {
    /// What records, streams and plays.
    static let live = SiblingProgram(name: "vatoolbox-live", commands: ["devices", "record", "stream", "play"])
}

/// `vatoolbox devices`: only its place in the help, as ``ServeCommand``.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List cameras, screens and sound sources (vatoolbox devices --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

/// `vatoolbox record`: only its place in the help.
struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record cameras, screens and sound into a file (vatoolbox record --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

/// `vatoolbox stream`: only its place in the help.
struct StreamCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stream",
        abstract: "Send devices, files or live URLs by RTMP, SRT, UDP, RTP and HLS (vatoolbox stream --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

/// `vatoolbox play`: only its place in the help.
struct PlayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Play a file or a stream with an installed player (vatoolbox play --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import Glibc
import MediaTypes

/// `vatoolbox play`.
struct PlayCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Play a file or a stream with an installed player.",
        discussion: """
            The player replaces this program, and its exit status is the one of this command. The first one that is installed \
            is used: \(Player.all.map(\.name).joined(separator: ", ")).

            Exit status: that of the player; 1 if none is installed; 2 invalid command line.
            """
    )

    @Argument(help: "A file, or the URL of a stream.", completion: .file())
    var input: String

    @Option(
        help: ArgumentHelp(
            "The player: \(Player.all.map(\.name).joined(separator: ", ")) (default: the first one that is installed).",
            valueName: "name"
        ),
        completion: .list(Player.all.map(\.name))
    )
    var player: String?

    /// Becomes the player.
    ///
    /// - Returns: Only if that is not possible: the error.
    func play() -> MediaError {
        guard !input.isEmpty, !input.hasPrefix("-") else {
            return MediaError(.invalidArgument, "the input is not valid", given: input, allowed: "a file or a URL")
        }
        let players = Player.all.filter { player == nil || $0.name == player }
        guard !players.isEmpty else {
            return MediaError(
                .invalidArgument,
                "this player is not known",
                given: player,
                allowed: Player.all.map(\.name).joined(separator: ", ")
            )
        }
        for player in players { player.become(playing: input) }
        return MediaError(
            .unavailable,
            "no player is installed",
            given: players.map(\.name).joined(separator: ", "),
            remedies: players.map { "install one: apt-get install \($0.package)" }
        )
    }
}

/// A player that plays files and streams, in a window.
private struct Player: Sendable {
    /// The name of its program.
    let name: String
    /// The Debian package.
    let package: String
    /// The arguments before the input: little delay, where the player allows it.
    let arguments: [String]

    /// The players, the best for live streams first.
    static let all = [
        Player(name: "mpv", package: "mpv", arguments: ["--profile=low-latency", "--"]),
        Player(name: "ffplay", package: "ffmpeg", arguments: ["-autoexit", "-fflags", "nobuffer", "-i"]),
        Player(name: "vlc", package: "vlc", arguments: ["--"]),
        Player(name: "gst-play-1.0", package: "gstreamer1.0-plugins-base-apps", arguments: ["--"]),
    ]

    /// Becomes the player; returns if it is not installed.
    func become(playing input: String) {
        let words = ([name] + arguments + [input]).map { strdup($0) } + [nil]
        execvp(name, words)
        for word in words { free(word) }
    }
}

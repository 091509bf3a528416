// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import ServiceCommandLine

extension SiblingProgram {
    /// The encoding service and the commands that ask it.
    static let service = SiblingProgram(name: "vatoolbox-service", commands: ["serve"] + ServiceCommands.names)

    /// All programs that commands of this one become.
    static let all = [service, live]
}

/// `vatoolbox serve`: only its place in the help. The program has replaced this one before arguments are parsed.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve encoding jobs over HTTP (vatoolbox serve --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import ServiceCommandLine

extension SiblingProgram {
    /// The encoding service and the commands that ask it.
    static let service = SiblingProgram(
        name: "vatoolbox-service",
        commands: ["serve", "worker", "cluster"] + ServiceCommands.names
    )

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

/// `vatoolbox cluster`: only its place in the help, as ``ServeCommand``.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Prepare the database of a service on several machines (vatoolbox cluster --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

/// `vatoolbox worker`: only its place in the help, as ``ServeCommand``.
struct WorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Do jobs of an encoding service on another machine (vatoolbox worker --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import EncodingService
import Foundation
import JobExecution
import ServiceCommandLine

/// The program `vatoolbox-service`, which `vatoolbox serve` and the commands that ask a service become.
@main
struct Service {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        // First of all: only a process without further threads can confine itself.
        case Confinement.subcommand: Confinement.enterAndExecute(Array(arguments.dropFirst()))
        case HealthCommand.subcommand: HealthCommand.run(Array(arguments.dropFirst()))
        case "serve": Task { await ServeCommand.run(.serve, Array(arguments.dropFirst())) }
        case ClusterCommand.subcommand: Task { await ClusterCommand.run(Array(arguments.dropFirst())) }
        case "worker": Task { await ServeCommand.run(.work, Array(arguments.dropFirst())) }
        case let command? where ServiceCommands.names.contains(command):
            Task { await ClientCommands.run(arguments) }
        default:
            let names = (["serve", "worker", ClusterCommand.subcommand] + ServiceCommands.names).joined(separator: "|")
            FileHandle.standardError.write(Data("usage: vatoolbox \(names) [--help]\n".utf8))
            exit(2)
        }
        dispatchMain()
    }
}

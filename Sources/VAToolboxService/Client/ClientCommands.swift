// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import Foundation
import ServiceAPI
import ServiceClient
import ServiceCommandLine

/// The commands that ask a service.
enum ClientCommands {
    /// Runs the command of a command line, and ends the process.
    static func run(_ arguments: [String]) async -> Never {
        signal(SIGPIPE, SIG_IGN)
        let command: any ParsableCommand
        do {
            command = try ServiceCommands.parse(arguments)
        } catch {
            let (text, isError) = ServiceCommands.explain(error)
            FileHandle(fileDescriptor: isError ? STDERR_FILENO : STDOUT_FILENO).write(Data((text + "\n").utf8))
            exit(isError ? ClientStatus.usage.rawValue : 0)
        }
        let console = ClientConsole(isQuiet: (command as? SubmitCommand)?.results.quiet ?? false)
        let status: ClientStatus
        do {
            status = try await run(command, console)
        } catch let error as UsageError {
            console.progress("")
            console.error(error.description)
            status = .usage
        } catch let error as ClientError {
            console.progress("")
            console.error(error)
            status = error.kind == .invalidValue ? .usage : .failed
        } catch {
            console.progress("")
            console.error("\(error)")
            status = .failed
        }
        exit(status.rawValue)
    }

    private static func run(_ command: any ParsableCommand, _ console: ClientConsole) async throws -> ClientStatus {
        switch command {
        case let command as SubmitCommand:
            return try await SubmitRun(command, console).run()
        case let command as JobsCommand.List: try await JobsRun(command.connection, command.report).list(command)
        case let command as JobsCommand.Show: try await JobsRun(command.connection, command.report).show(command.job)
        case let command as JobsCommand.Cancel:
            return try await JobsRun(command.chosen).change(command.chosen, console) { try await $0.cancel($1) }
        case let command as JobsCommand.Retry:
            return try await JobsRun(command.chosen).change(command.chosen, console) { try await $0.retry($1) }
        case let command as JobsCommand.Delete:
            return try await JobsRun(command.chosen).change(command.chosen, console) {
                try await $0.deleteJob($1)
                return nil
            }
        case let command as LogsCommand: try await JobsRun(command.connection).logs(command)
        case let command as LiveCommand.List: try await LiveRun(command.connection, command.report).list(command.state)
        case let command as LiveCommand.Start:
            try await LiveRun(command.connection, command.report).start(command.request)
        case let command as LiveCommand.Show: try await LiveRun(command.connection, command.report).show(command.job)
        case let command as LiveCommand.Switch:
            try await LiveRun(command.connection, command.report).use(command.input, of: command.job)
        case let command as LiveCommand.Stop:
            return try await LiveRun(command.chosen.connection, command.chosen.report).change(
                command.chosen.jobs,
                console
            ) {
                try await $0.stopLive($1)
            }
        case let command as LiveCommand.Delete:
            return try await LiveRun(command.chosen.connection, command.chosen.report).change(
                command.chosen.jobs,
                console
            ) {
                try await $0.deleteLive($1)
                return nil
            }
        case let command as DrainCommand: try await JobsRun(command.connection, command.report).drain(command)
        case let command as ResumeCommand: try await JobsRun(command.connection, command.report).resume(command)
        case let command as StatusCommand: try await JobsRun(command.connection, command.report).status()
        default: throw UsageError("the command has no such subcommand (given \(type(of: command)))")
        }
        return .done
    }
}

/// The service that the options and the environment name, and its key, which is read once: standard input has it once.
struct Connection {
    private let url: String
    private let key: String?
    private let authorities: String?

    init(_ options: ConnectionOptions) throws {
        let environment = ProcessInfo.processInfo.environment
        url = options.url(environment: environment)
        key = try options.key(environment: environment, read: Self.read)
        authorities = options.caFile
    }

    func client(settings: ServiceClient.Settings = ServiceClient.Settings()) throws(ClientError) -> ServiceClient {
        var settings = settings
        settings.authorities = authorities
        return try ServiceClient(url: url, key: key, settings: settings)
    }

    /// A client that repeats nothing: for the first request, so that a wrong URL is told at once.
    func impatientClient() throws(ClientError) -> ServiceClient {
        var settings = ServiceClient.Settings()
        settings.patience = 0
        settings.longPatience = 0
        settings.timeout = 20
        return try client(settings: settings)
    }

    private static func read(_ path: String) throws -> String {
        let data: Data?
        do {
            data =
                path == "-"
                ? try FileHandle.standardInput.readToEnd() : try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw UsageError("the key cannot be read from \(path): \(error.localizedDescription)")
        }
        guard let data, !data.isEmpty, let text = String(data: data, encoding: .utf8) else {
            throw UsageError("the file of the key is empty, or no text (given \(path))")
        }
        return text
    }
}

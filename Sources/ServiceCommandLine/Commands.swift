// SPDX-License-Identifier: GPL-2.0-or-later

package import ArgumentParser
package import ServiceAPI

/// The commands that ask a service, as their arguments only: `vatoolbox` shows their help and completes them, and
/// `vatoolbox-service`, which it becomes, runs them.
package enum ServiceCommands {
    /// The commands.
    package static let all: [any ParsableCommand.Type] = [
        SubmitCommand.self, JobsCommand.self, LogsCommand.self, LiveCommand.self, DrainCommand.self,
        ResumeCommand.self, StatusCommand.self,
    ]

    /// Their names.
    package static var names: [String] { all.compactMap { $0.configuration.commandName } }

    /// Reads a command line.
    ///
    /// - Throws: An error of ArgumentParser, which may be a request for help.
    package static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        var command = try Root.parseAsRoot(arguments)
        // Help is a command of ArgumentParser, which throws its text.
        if type(of: command).configuration.commandName == "help" { try command.run() }
        return command
    }

    /// The text for an error of ``parse(_:)``, and whether it is one: help was asked for otherwise.
    package static func explain(_ error: any Error) -> (text: String, isError: Bool) {
        (Root.fullMessage(for: error), !Root.exitCode(for: error).isSuccess)
    }

    private struct Root: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "vatoolbox", subcommands: all)
    }
}

/// `vatoolbox jobs`.
package struct JobsCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "List, show, cancel, retry and delete jobs of the encoding service.",
        subcommands: [List.self, Show.self, Cancel.self, Retry.self, Delete.self],
        defaultSubcommand: List.self
    )

    package init() {}

    /// `vatoolbox jobs list`.
    package struct List: ParsableCommand {
        package static let configuration = CommandConfiguration(abstract: "List jobs, the newest first.")

        @Option(help: "Only jobs in this state.") package var state: JobState?
        @Option(help: ArgumentHelp("Only jobs of this queue.", valueName: "name")) package var queue: String?
        @Option(help: ArgumentHelp("Only jobs of this share.", valueName: "name")) package var share: String?
        @Option(help: ArgumentHelp("Only jobs with this label. May be repeated.", valueName: "key=value"))
        package var label: [LabelArgument] = []
        @Option(help: ArgumentHelp("At most so many jobs; 0 for all.", valueName: "count"))
        package var limit = 50
        @OptionGroup package var report: ReportOptions
        @OptionGroup(title: "Service options") package var connection: ConnectionOptions

        package init() {}

        package mutating func validate() throws {
            guard limit >= 0 else {
                throw ValidationError("--limit is out of range (given \(limit); allowed: 0 or more)")
            }
        }
    }

    /// `vatoolbox jobs show`.
    package struct Show: ParsableCommand {
        package static let configuration = CommandConfiguration(abstract: "Show a job, its outputs and its failures.")

        @Argument(help: "The ID of the job.") package var job: String
        @OptionGroup package var report: ReportOptions
        @OptionGroup(title: "Service options") package var connection: ConnectionOptions

        package init() {}
    }

    /// `vatoolbox jobs cancel`.
    package struct Cancel: ParsableCommand {
        package static let configuration = CommandConfiguration(abstract: "Cancel jobs.")
        @OptionGroup package var chosen: ChosenJobs
        package init() {}
    }

    /// `vatoolbox jobs retry`.
    package struct Retry: ParsableCommand {
        package static let configuration = CommandConfiguration(
            abstract: "Run the tasks of jobs again that have failed or were cancelled."
        )
        @OptionGroup package var chosen: ChosenJobs
        package init() {}
    }

    /// `vatoolbox jobs delete`.
    package struct Delete: ParsableCommand {
        package static let configuration = CommandConfiguration(
            abstract: "Delete jobs that have ended, with their files."
        )
        @OptionGroup package var chosen: ChosenJobs
        package init() {}
    }
}

/// Jobs that are named.
package struct ChosenJobs: ParsableArguments, Sendable {
    @Argument(help: "The IDs of the jobs.") package var jobs: [String]
    @OptionGroup package var report: ReportOptions
    @OptionGroup(title: "Service options") package var connection: ConnectionOptions

    package init() {}
}

/// `vatoolbox logs`.
package struct LogsCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Print what the processes of a job have written."
    )

    @Argument(help: "The ID of the job.") package var job: String
    @Flag(name: .shortAndLong, help: "Print further lines as they are written, until the job ends.")
    package var follow = false
    @OptionGroup(title: "Service options") package var connection: ConnectionOptions

    package init() {}
}

/// `vatoolbox drain`.
package struct DrainCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Let the service, or one of its queues, begin no more tasks. Those that run go on."
    )

    @Argument(help: "The queue (default: all work of this service).") package var queue: String?
    @Flag(help: "Wait until nothing runs.") package var wait = false
    @OptionGroup package var report: ReportOptions
    @OptionGroup(title: "Service options") package var connection: ConnectionOptions

    package init() {}
}

/// `vatoolbox resume`.
package struct ResumeCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let the service, or one of its queues, begin tasks again after drain."
    )

    @Argument(help: "The queue (default: all work of this service).") package var queue: String?
    @OptionGroup package var report: ReportOptions
    @OptionGroup(title: "Service options") package var connection: ConnectionOptions

    package init() {}
}

/// `vatoolbox status`.
package struct StatusCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what the service does, its queues, and the GPUs that it uses or cannot use."
    )

    @OptionGroup package var report: ReportOptions
    @OptionGroup(title: "Service options") package var connection: ConnectionOptions

    package init() {}
}

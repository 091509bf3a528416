// SPDX-License-Identifier: GPL-2.0-or-later

package import ArgumentParser
package import ServiceAPI

/// `vatoolbox live`.
package struct LiveCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "live",
        abstract: "Start, list, show, switch, stop and delete live jobs of the encoding service.",
        subcommands: [List.self, Start.self, Show.self, Switch.self, Stop.self, Delete.self],
        defaultSubcommand: List.self
    )

    package init() {}

    /// `vatoolbox live list`.
    package struct List: ParsableCommand {
        package static let configuration = CommandConfiguration(abstract: "List live jobs, the newest first.")

        @Option(help: "Only live jobs in this state.") package var state: LiveState?
        @OptionGroup package var report: ReportOptions
        @OptionGroup(title: "Service options") package var connection: ConnectionOptions

        package init() {}
    }

    /// `vatoolbox live start`.
    package struct Start: ParsableCommand {
        package static let configuration = CommandConfiguration(
            abstract: "Start a live job.",
            discussion: "Addresses of receivers may be secret, so the request is read from a file, and is no argument."
        )

        @Argument(
            help: "A file with the request in JSON, as POST /v1/live takes it, or - for standard input.",
            completion: .file(extensions: ["json"])
        )
        package var request: String
        @OptionGroup package var report: ReportOptions
        @OptionGroup(title: "Service options") package var connection: ConnectionOptions

        package init() {}
    }

    /// `vatoolbox live show`.
    package struct Show: ParsableCommand {
        package static let configuration = CommandConfiguration(
            abstract: "Show a live job, its inputs and its outputs."
        )

        @Argument(help: "The ID of the live job.") package var job: String
        @OptionGroup package var report: ReportOptions
        @OptionGroup(title: "Service options") package var connection: ConnectionOptions

        package init() {}
    }

    /// `vatoolbox live switch`.
    package struct Switch: ParsableCommand {
        package static let configuration = CommandConfiguration(abstract: "Use another input of a live job.")

        @Argument(help: "The ID of the live job.") package var job: String
        @Argument(help: "The number of the input, from 1 on.") package var input: Int
        @OptionGroup package var report: ReportOptions
        @OptionGroup(title: "Service options") package var connection: ConnectionOptions

        package init() {}

        package mutating func validate() throws {
            guard (1...8).contains(input) else {
                throw ValidationError("The input is out of range (given \(input); allowed: 1 to 8)")
            }
        }
    }

    /// `vatoolbox live stop`.
    package struct Stop: ParsableCommand {
        package static let configuration = CommandConfiguration(abstract: "End live jobs.")
        @OptionGroup package var chosen: ChosenJobs
        package init() {}
    }

    /// `vatoolbox live delete`.
    package struct Delete: ParsableCommand {
        package static let configuration = CommandConfiguration(abstract: "Delete live jobs that have ended.")
        @OptionGroup package var chosen: ChosenJobs
        package init() {}
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingService
import Foundation
import Logging
import MediaTypes

/// `vatoolbox serve` and `vatoolbox worker`, which have the same settings.
enum ServeCommand {
    /// What the process does.
    enum Role {
        case serve
        case work
    }

    static func run(_ role: Role, _ arguments: [String]) async {
        if arguments.contains("--help") || arguments.contains("-h") {
            print(help(role))
            exit(0)
        }
        let environment = ProcessInfo.processInfo.environment
        let printsSettings = arguments.contains("--print-config")
        do {
            let sources = try await SettingsSources(
                arguments: arguments.filter { $0 != "--print-config" },
                environment: environment
            )
            if role == .serve { try sources.settings.validateServer() }
            if printsSettings {
                print(sources.description, terminator: "")
                exit(0)
            }
            let settings = sources.settings
            let recentLog = RecentLog()
            LoggingSystem.bootstrap { ServiceLogHandler(label: $0, settings: settings, recentLog: recentLog) }
            let (launcher, logger) = ([ownPath, "confine"], Logger(label: "vatoolbox"))
            switch role {
            case .serve:
                let service = try await EncodingService(
                    settings: settings,
                    launcher: launcher,
                    environment: environment,
                    version: PackageVersion.current,
                    logger: logger,
                    recentLog: recentLog
                )
                try await service.run()
            case .work:
                let worker = try await EncodingWorker(
                    settings: settings,
                    launcher: launcher,
                    environment: environment,
                    version: PackageVersion.current,
                    logger: logger
                )
                try await worker.run()
            }
            exit(0)
        } catch {
            fail("\(error)", status: (error as any Error) is SettingsError ? 2 : 1)
        }
    }

    private static func fail(_ message: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("vatoolbox: error: \(message)\n".utf8))
        exit(status)
    }

    /// The path of this program.
    private static var ownPath: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }

    private static func overview(_ role: Role) -> [String] {
        switch role {
        case .serve:
            [
                "OVERVIEW: Serve encoding jobs over HTTP.",
                "",
                "Without settings, the service listens on http://127.0.0.1:8080/, for programs",
                "of this machine only. After SIGTERM, running tasks end and no other begins.",
                "",
                "USAGE: vatoolbox serve [--config <file>] [settings]",
                "",
            ]
        case .work:
            [
                "OVERVIEW: Do tasks of an encoding service that runs on another machine.",
                "",
                "The service and its workers have the same PostgreSQL database (store.location),",
                "the same folder (data), and each another name (store.node). A worker serves no",
                "HTTP, and settings of HTTP mean nothing to it. After SIGTERM, running tasks end",
                "and no other begins; a second SIGTERM gives them back at once.",
                "",
                "USAGE: vatoolbox worker [--config <file>] [settings]",
                "",
            ]
        }
    }

    private static func help(_ role: Role) -> String {
        var lines = overview(role)
        lines += [
            "Each setting is a flag, an environment variable, and a key of a YAML file:",
            "--uploads-limit, VATOOLBOX_SERVICE_UPLOADS_LIMIT, and limit below uploads.",
            "A flag wins over the environment, and that over the file. Bytes may end with",
            "K, M, G or T, for powers of 1024.",
            "",
            "SETTINGS:",
        ]
        let defaults = ServiceSettings()
        for setting in Setting.all {
            lines.append("  \(setting.flag) <\(setting.value)>")
            let value = setting.help(defaults: defaults)
            lines.append("                          \(setting.help)\(value)")
        }
        lines += [
            "",
            "OPTIONS:",
            "  --config <file>         Read settings from a YAML or JSON file (environment:",
            "                          VATOOLBOX_SERVICE_CONFIG).",
            "  --print-config          Print the settings, and where they come from.",
            "  -h, --help              Show help information.",
        ]
        return lines.joined(separator: "\n")
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingService
import Foundation

/// `vatoolbox cluster`: the database of a service on several machines.
enum ClusterCommand {
    static let subcommand = "cluster"

    static func run(_ arguments: [String]) async {
        if arguments.isEmpty || arguments.contains("--help") || arguments.contains("-h") {
            print(help)
            exit(arguments.isEmpty ? 2 : 0)
        }
        do throws(SettingsError) {
            let request = try ClusterRequest(
                arguments: arguments,
                environment: ProcessInfo.processInfo.environment
            )
            let report = await request.run()
            print(report.text)
            exit(report.isRight ? 0 : 1)
        } catch {
            FileHandle.standardError.write(Data("vatoolbox: error: \(error)\n".utf8))
            exit(2)
        }
    }

    private static let help = """
        OVERVIEW: Prepare and examine the database of a service on several machines.

        USAGE: vatoolbox cluster migrate [location] [--grant <role>]
               vatoolbox cluster doctor [location]

        migrate creates the tables of the job store, or brings them to this version.
        doctor looks at the server, the tables and the workers, and changes nothing. It
        ends with 1 if something is wrong.

        The location is a connection string or URI of libpq, by default that of
        VATOOLBOX_SERVICE_STORE_LOCATION; files of settings are not read. Other users see
        arguments: a password belongs in that variable, or in ~/.pgpass.

        OPTIONS:
          --grant <role>          Let a role read and write rows, but not alter tables.
          -h, --help              Show help information.
        """
}

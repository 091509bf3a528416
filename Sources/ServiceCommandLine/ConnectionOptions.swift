// SPDX-License-Identifier: GPL-2.0-or-later

package import ArgumentParser

/// Which service a command asks, and with which key.
package struct ConnectionOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "The URL of the service (default: VATOOLBOX_URL, or http://127.0.0.1:8080).",
            valueName: "url"
        )
    )
    package var url: String?

    @Option(
        help: ArgumentHelp(
            "A file with the key of the service, or - for standard input (default: the variable VATOOLBOX_KEY, or none).",
            valueName: "file"
        ),
        completion: .file()
    )
    package var keyFile: String?

    @Option(help: ArgumentHelp("The key itself, which other users of this machine can then see.", valueName: "key"))
    package var key: String?

    @Option(
        help: ArgumentHelp(
            "A PEM file with the authorities that sign the service's certificate (default: those of the system).",
            valueName: "file"
        ),
        completion: .file(extensions: ["pem", "crt"])
    )
    package var caFile: String?

    package init() {}

    package mutating func validate() throws {
        if key != nil, keyFile != nil {
            throw ValidationError("--key and --key-file exclude each other. Use --key-file.")
        }
    }

    /// The URL, from the option, the environment, or the default.
    package func url(environment: [String: String]) -> String {
        if let url { return url }
        if let url = environment["VATOOLBOX_URL"], !url.isEmpty { return url }
        return "http://127.0.0.1:8080"
    }

    /// The key, from the options or the environment.
    ///
    /// - Parameter read: Reads a file.
    package func key(
        environment: [String: String],
        read: (_ path: String) throws -> String
    ) rethrows -> String? {
        if let key { return key }
        if let keyFile {
            // Editors and `echo` end files with a line break.
            let text = try read(keyFile)
            return String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
        }
        guard let key = environment["VATOOLBOX_KEY"], !key.isEmpty else { return nil }
        return key
    }
}

/// How a command reports.
package struct ReportOptions: ParsableArguments, Sendable {
    @Flag(help: "Print the answer of the service as JSON.")
    package var json = false

    package init() {}
}

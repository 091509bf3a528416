// SPDX-License-Identifier: GPL-2.0-or-later

package import ArgumentParser
package import MediaTypes

/// What the command prints.
package struct ReportArguments: ParsableArguments, Sendable {
    @Flag(help: "Print the result to standard output as one JSON document.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Print only warnings and errors.")
    package var quiet = false

    @Flag(name: .shortAndLong, help: "Also print the log messages of encoders, decoders and FFmpeg.")
    package var verbose = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Write the progress to a new file, a FIFO or a descriptor such as /dev/fd/3, twice a second: a JSON object per line.",
            valueName: "path"
        ),
        completion: .file()
    )
    package var progress: String?

    package init() {}
}

extension ReportArguments {
    /// - Throws: `invalidArgument` for flags that exclude each other.
    package func validateFlags() throws(MediaError) {
        if quiet, verbose { throw contradiction("--quiet", "--verbose") }
        if json, verbose { throw contradiction("--json", "--verbose") }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import Glibc
import ServiceCommandLine

/// Commands of the encoding service, which are another program: its libraries would slow down the start of all others.
enum ServiceProgram {
    /// The name of the program, which is installed beside this one.
    static let name = "vatoolbox-service"
    /// The names of the commands.
    static let commands = ["serve"] + ServiceCommands.names

    /// Becomes the program if the command is one of its own.
    ///
    /// - Returns: Only if it is another command, or if the program cannot be started: the error then.
    static func becomeIfNeeded(_ arguments: [String]) -> String? {
        guard let command = arguments.first, commands.contains(command) else { return nil }
        var path = name
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        if readlink("/proc/self/exe", &buffer, buffer.count - 1) > 0 {
            let own = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let beside = own[...(own.lastIndex(of: "/") ?? own.startIndex)] + name
            if access(String(beside), X_OK) == 0 { path = String(beside) }
        }
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        execvp(path, words)
        let reason = String(cString: strerror(errno))
        for word in words { free(word) }
        return "\(command) needs the program \(name), which cannot be started: \(reason) "
            + "(given \(path); allowed: beside vatoolbox, or in PATH)"
    }
}

/// `vatoolbox serve`: only its place in the help. The program has replaced this one before arguments are parsed.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve encoding jobs over HTTP (vatoolbox serve --help)."
    )

    @Argument(parsing: .captureForPassthrough, help: .hidden) var arguments: [String] = []
}

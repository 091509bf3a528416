// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// A program that is installed beside this one and that some commands of this one become. Its libraries would slow down
/// the start of all other commands.
package struct SiblingProgram: Sendable {
    /// The name of the program.
    package let name: String
    /// The names of the commands that are its own.
    package let commands: [String]

    package init(name: String, commands: [String]) {
        self.name = name
        self.commands = commands
    }

    /// Becomes the program if the command is one of its own.
    ///
    /// - Parameter arguments: The arguments of this program, of which the first is the command.
    /// - Returns: Only if it is another command, or if the program cannot be started: the error then.
    package func becomeIfNeeded(_ arguments: [String]) -> String? {
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

// SPDX-License-Identifier: GPL-2.0-or-later

internal import HelperSandbox
internal import MediaTypes

/// What the launcher is asked for: the arguments behind `vatoolbox-service confine`.
struct LaunchRequest: Sendable, Hashable {
    /// What the program may access.
    var access: TaskAccess
    /// The program and its arguments.
    var command: [String]
    var largestFile: UInt64 = 1 << 40
    var mostDescriptors: UInt64 = 4096
    /// The most memory of all processes together, in bytes.
    var memory: UInt64?
    var mostProcesses = 256
    /// By how much its nice value is above the host's.
    var niceness = 0
    var requiresConfinement = false
    /// The descriptor of the connection to the host; `nil` if people run it.
    var control: Int32?

    static let usage = """
        usage: confine [--read PATH]... [--write PATH]... [--program PATH]... [--devices] [--network]
                       [--largest-file BYTES] [--most-descriptors N] [--memory BYTES] [--most-processes N]
                       [--nice N] [--require-confinement]
                       -- PROGRAM [ARGUMENT]...
        """

    init(access: TaskAccess, command: [String]) {
        self.access = access
        self.command = command
    }

    /// Reads arguments.
    ///
    /// - Throws: `invalidArgument`.
    init(_ arguments: [String]) throws(MediaError) {
        guard let separator = arguments.firstIndex(of: "--"), separator + 1 < arguments.count else {
            throw MediaError(.invalidArgument, "no program is given", allowed: "-- PROGRAM [ARGUMENT]...")
        }
        command = Array(arguments[(separator + 1)...])
        access = TaskAccess(programs: [command[0]])
        var words = arguments[..<separator]
        while let option = words.popFirst() {
            switch option {
            case "--devices": access.devices = true
            case "--network": access.network = true
            case "--require-confinement": requiresConfinement = true
            default:
                guard let value = words.popFirst() else {
                    throw MediaError(.invalidArgument, "the option is unknown or lacks its value", given: option)
                }
                switch option {
                case "--read": access.readable.append(value)
                case "--write": access.writable.append(value)
                case "--program": access.programs.append(value)
                case "--largest-file": largestFile = try Self.number(value, of: option)
                case "--most-descriptors": mostDescriptors = try Self.number(value, of: option)
                case "--memory": memory = try Self.number(value, of: option)
                case "--most-processes": mostProcesses = try Self.number(value, of: option)
                case "--nice": niceness = try Self.number(value, of: option, most: 19)
                case "--control": control = try Self.number(value, of: option)
                default: throw MediaError(.invalidArgument, "the option is unknown", given: option)
                }
            }
        }
    }

    private static func number<Number: FixedWidthInteger>(
        _ text: String,
        of option: String,
        most: Number = .max
    ) throws(MediaError) -> Number {
        guard let number = Number(text), (1...most).contains(number) else {
            throw MediaError(
                .invalidArgument,
                "the value of \(option) is not valid",
                given: text,
                allowed: "1...\(most)"
            )
        }
        return number
    }

    /// The arguments that are read as this request.
    var arguments: [String] {
        var words = access.readable.flatMap { ["--read", $0] } + access.writable.flatMap { ["--write", $0] }
        words += access.programs.dropFirst().flatMap { ["--program", $0] }
        if access.devices { words.append("--devices") }
        if access.network { words.append("--network") }
        words += ["--largest-file", "\(largestFile)", "--most-descriptors", "\(mostDescriptors)"]
        if let memory { words += ["--memory", "\(memory)"] }
        words += ["--most-processes", "\(mostProcesses)"]
        if niceness > 0 { words += ["--nice", "\(niceness)"] }
        if requiresConfinement { words.append("--require-confinement") }
        if let control { words += ["--control", "\(control)"] }
        return words + ["--"] + command
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import EncodingBenchmark
import MediaIO
import MediaTypes
import Transcoding

/// The command lines of several outputs that are given in one: what precedes the first `-o` applies to all of them, and
/// each `-o` begins the options of its own output. A file of `--outputs` has the same meaning.
struct OutputGroups {
    /// The options of one output, beginning with `-o`.
    struct Group: Equatable {
        var arguments: [String]
        /// Where it is in the file, for errors.
        var place: String?
    }

    /// The arguments before the first output: the input, and options of all outputs.
    private(set) var common: [String] = []
    /// The outputs, at least two or from a file; empty if the command line is an ordinary one.
    private(set) var groups: [Group] = []

    private static let fileOption = "--outputs"

    /// Splits a command line.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, from the name of the subcommand on.
    ///   - read: Reads a file.
    /// - Throws: `invalidArgument` for a file that is no list of outputs; errors of `read`.
    init(_ arguments: [String], read: (String) throws(MediaError) -> String) throws(MediaError) {
        guard arguments.first == EncodeCommand.configuration.commandName else { return }
        let (arguments, rest) = Self.beforeTerminator(arguments)
        let starts = arguments.indices.filter { Self.isOutput(arguments[$0]) }
        if let file = Self.file(in: arguments) {
            if let start = starts.first {
                throw contradiction(Self.fileOption, arguments[start], allowed: "\(Self.fileOption), or -o")
            }
            common = Array(arguments[..<file.range.lowerBound] + arguments[file.range.upperBound...]) + rest
            groups = try Self.groups(in: file.path, read)
        } else if starts.count > 1 {
            common = Array(arguments[..<starts[0]])
            let ends = starts.dropFirst() + [arguments.count]
            groups = zip(starts, ends).map { Group(arguments: Array(arguments[$0..<$1])) }
            groups[groups.count - 1].arguments += rest
        }
    }

    /// The arguments of an output, as if it were the only one.
    func arguments(of group: Group) -> [String] { common + group.arguments }

    private static func beforeTerminator(_ arguments: [String]) -> ([String], [String]) {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return (Array(arguments[..<end]), Array(arguments[end...]))
    }

    private static func isOutput(_ argument: String) -> Bool {
        argument.hasPrefix("-o") || argument == "--output" || argument.hasPrefix("--output=")
    }

    private static func file(in arguments: [String]) -> (path: String, range: Range<Int>)? {
        for (index, argument) in arguments.enumerated() {
            if argument == fileOption, index + 1 < arguments.count { return (arguments[index + 1], index..<index + 2) }
            if argument.hasPrefix(fileOption + "=") {
                return (String(argument.dropFirst(fileOption.count + 1)), index..<index + 1)
            }
        }
        return nil
    }

    // MARK: - Files

    private static func groups(
        in path: String,
        _ read: (String) throws(MediaError) -> String
    ) throws(MediaError) -> [Group] {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard let node = try PlanNode.document(try read(path), name: name), case .sequence(let items) = node.content,
            !items.isEmpty
        else {
            throw MediaError(
                .invalidArgument,
                "the file is not a list of outputs",
                given: path,
                allowed: "items such as - {output: film-720.mp4, size: 1280x720, bitrate: 3M}"
            )
        }
        return try items.map { (item) throws(MediaError) in try group(item, name) }
    }

    private static func group(_ item: PlanNode, _ name: String) throws(MediaError) -> Group {
        let place = "\(name), line \(item.line)"
        guard case .mapping(let pairs) = item.content else {
            throw MediaError(
                .invalidArgument,
                "\(place): an output is a mapping of options",
                given: item.scalar,
                allowed: "output and other options of the command, without hyphens in front"
            )
        }
        var (output, options): ([String], [String]) = ([], [])
        for pair in pairs {
            let key = pair.key.scalar ?? ""
            let place = "\(name), line \(pair.key.line)"
            let isName = key.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
            guard !key.isEmpty, isName, key != "outputs" else {
                throw MediaError(.invalidArgument, "\(place): not an option of an output", given: key)
            }
            let values: [PlanNode] =
                if case .sequence(let items) = pair.value.content { items } else { [pair.value] }
            for value in values {
                guard let text = value.scalar, !text.isEmpty else {
                    throw MediaError(
                        .invalidArgument,
                        "\(place): \(key) has no value",
                        allowed: "a word, or a list of words"
                    )
                }
                if key == "output" {
                    output += ["--output", text]
                } else if text == "true" {
                    options.append("--\(key)")
                } else if text != "false" {
                    options += ["--\(key)=\(text)"]
                }
            }
        }
        guard output.count == 2 else {
            throw MediaError(
                .invalidArgument,
                "\(place): an output needs one path",
                given: "\(output.count / 2)",
                allowed: "the key output, once"
            )
        }
        return Group(arguments: output + options, place: place)
    }
}

extension [EncodeCommand] {
    /// Returns the request of several outputs of one input, and the encoder options of each output.
    ///
    /// - Throws: `invalidArgument` for invalid values and contradictory options.
    func request(inputIsLive: Bool) throws(MediaError) -> (request: TranscodeRequest, encoders: [EncoderArguments]) {
        var (result, encoders): (TranscodeRequest?, [EncoderArguments]) = (nil, [])
        for command in self {
            let request = try command.request(inputIsLive: inputIsLive)
            encoders += Array<EncoderArguments>(repeating: command.encoder, count: request.outputs.count)
            guard var merged = result else {
                result = request
                continue
            }
            guard request.source == merged.source, request.decoder == merged.decoder else {
                throw MediaError(
                    .invalidArgument,
                    "the outputs have different options of the input",
                    given: "-o \(command.output.output)",
                    allowed: "options of the input in front of the first -o"
                )
            }
            guard request.stream == merged.stream else {
                throw MediaError(
                    .invalidArgument,
                    "a playlist and another output cannot be written together",
                    given: "-o \(self[0].output.output) and -o \(command.output.output)",
                    allowed: "files, or variants of one playlist with the same segments"
                )
            }
            merged.others += request.outputs
            merged.isPaced = merged.isPaced || request.isPaced
            result = merged
        }
        guard let result else { throw MediaError(.invalidArgument, "there is no output", allowed: "-o PATH") }
        return (result, encoders)
    }
}

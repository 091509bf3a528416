// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore
internal import ServiceAPI

/// Looks at the outputs of an attempt once more, in a process that has not seen the input.
///
/// The process that encodes reads what strangers have sent. What it says of its own outputs is only believed as far as
/// it agrees with the size of the files and with what another process, which knows nothing but an output, decodes.
struct OutputCheck: Sendable, Hashable {
    /// What a command has said of an output.
    struct Claimed: Sendable, Hashable {
        var name: String
        /// `nil` for outputs of several files.
        var bytes: Int?
        var pictures: Int
        /// That of the request, if it names one.
        var codec: String
    }

    /// What is decoded: a path relative to the folder of the attempt.
    var path: String
    var claimed: Claimed

    /// The checks of the outputs of a task.
    ///
    /// - Parameters:
    ///   - outputs: The indexes of the outputs.
    ///   - document: What the command has printed. It has one verification for each output, or each rung of a ladder.
    static func all(of request: JobRequest, outputs: [Int], document: JSONValue) -> [OutputCheck] {
        var documents = (document["outputs"].map(\.elements) ?? [document])[...]
        return outputs.flatMap { index -> [OutputCheck] in
            let output = request.outputs[index]
            // Of pictures, the command does not say more than the files themselves.
            if output.kind.isPictures { return [] }
            let own = documents.prefix(max(output.ladder.count, 1))
            documents = documents.dropFirst(own.count)
            return own.enumerated().map { place, document in
                OutputCheck(
                    path: output.kind == .hls ? rung(place, of: output) : output.name,
                    claimed: Claimed(
                        name: output.name,
                        bytes: output.kind == .file ? document["output"]?["bytes"]?.integer : nil,
                        pictures: document["verification"]?["frames"]?.integer ?? 0,
                        codec: output.video.codec == .auto
                            ? document["encoder"]?["codec"]?.string ?? "" : output.video.codec.rawValue
                    )
                )
            }
        }
    }

    private static func rung(_ place: Int, of output: Output) -> String {
        guard output.ladder.count > 1, let dot = output.name.lastIndex(of: ".") else { return output.name }
        return "\(output.name[..<dot])/\(output.ladder[place].height)p/index.m3u8"
    }

    /// The command that decodes the output.
    ///
    /// - Parameter folder: The folder of the attempt.
    func command(in folder: String) -> WorkerCommand {
        WorkerCommand(
            arguments: ["decode", "\(folder)/\(path)", "-o", "null", "--json", "--quiet", "--decoder=software"],
            readable: [folder]
        )
    }

    /// What is wrong with the output; `nil` if nothing is.
    ///
    /// - Parameters:
    ///   - size: The size of the file.
    ///   - decoded: How the command has ended.
    func finding(size: Int?, decoded: CommandResult) -> Failure? {
        if let bytes = claimed.bytes, bytes != size {
            return failure("has \(size ?? 0) bytes, of which the command that has made it says \(bytes)")
        }
        guard decoded.exit == .status(0), let document = decoded.json else {
            let reason = decoded.json?["error"]?["message"]?.string ?? decoded.lastLines.last ?? "\(decoded.exit)"
            return failure("cannot be decoded: \(reason)")
        }
        let pictures = document["pictures"]?.integer ?? 0
        guard pictures == claimed.pictures, pictures > 0 else {
            return failure("has \(pictures) pictures instead of \(claimed.pictures)")
        }
        let codec = document["input"]?["codec"]?.string ?? ""
        guard codec == claimed.codec else { return failure("has the codec \(codec) instead of \(claimed.codec)") }
        return nil
    }

    private func failure(_ what: String) -> Failure {
        Failure(code: "verification-failed", message: "the output \(path) \(what)", isRetriable: true)
    }
}

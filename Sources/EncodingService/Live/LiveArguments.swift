// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI

/// What the process of a live job is told. Only ``visible`` is on its command line.
struct LiveArguments: Sendable, Hashable {
    /// A file or folder for each input and output that has one, by their indices.
    struct Places: Sendable, Hashable {
        var inputs: [Int: String] = [:]
        var outputs: [Int: String] = [:]
    }

    let request: LiveRequest
    let places: Places
    /// Addresses that are allowed although they are private.
    let allowedAddresses: [String]

    /// The arguments that other users of the machine see.
    static func visible(progress: String) -> [String] { ["stream", "--control", "--json", "--progress", progress] }

    /// The text for standard input: the other arguments, one a line, an empty line, and the input to use.
    ///
    /// - Parameter input: The index of the input.
    func text(input: Int) -> String {
        (arguments + [""] + (input > 0 ? [Self.use(input)] : [])).map { $0 + "\n" }.joined()
    }

    /// The command that changes the input.
    static func use(_ input: Int) -> String { "use \(input + 1)" }

    /// The command that changes the highest bit rate.
    static func bitRate(_ rate: Int) -> String { "bitrate \(rate)" }

    private var arguments: [String] {
        var words = ["--public-addresses"] + allowedAddresses.flatMap { ["--allow-address", $0] }
        for (index, input) in request.inputs.enumerated() { words += ["--video", video(input, index)] }
        if request.tone { words += ["--audio", "test"] }
        for (index, output) in request.outputs.enumerated() { words += ["--to", receiver(output, index)] }
        let encoding = request.encoding
        words += ["--codec", encoding.codec.rawValue]
        words += encoding.bitRate.map { ["--bitrate", "\($0)"] } ?? []
        if let width = encoding.width, let height = encoding.height { words += ["--size", "\(width)x\(height)"] }
        words += encoding.frameRate.map { ["--fps", $0] } ?? []
        words += ["--key-interval", encoding.keyFrameInterval.json.text]
        words += ["--audio-bitrate", "\(encoding.audioBitRate)"]
        if encoding.device != "auto" { words += ["--device", encoding.device] }
        return encoding.requireHardware ? words + ["--require-hardware"] : words
    }

    private func video(_ input: LiveInput, _ index: Int) -> String {
        if let url = input.url { return "url:" + Self.escaped(url) }
        if let path = places.inputs[index] { return "file:\(Self.escaped(path)),loop=\(input.loop ? "on" : "off")" }
        let chart = input.test ?? LiveTestChart()
        return "test,size=\(chart.width)x\(chart.height),rate=\(chart.frameRate)"
    }

    private func receiver(_ output: LiveOutput, _ index: Int) -> String {
        guard let hls = output.hls, let folder = places.outputs[index] else { return output.url ?? "" }
        // Whether an older stream may be replaced was decided when the job was made.
        return "hls:\(folder)?segment=\(hls.segment)&window=\(hls.window.json.text)&overwrite=1"
    }

    /// The name of a device, in which a comma would begin options.
    private static func escaped(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1 == "," ? "\\," : String($1) }
    }

    /// Whether a path can be told: it has one line, `\,` would be a comma, and `?` begins the parameters of a folder.
    static func canTell(input path: String) -> Bool { !path.utf8.contains { [0x0A, 0x5C].contains($0) } }
    static func canTell(output path: String) -> Bool { !path.utf8.contains { [0x0A, 0x3F].contains($0) } }
}

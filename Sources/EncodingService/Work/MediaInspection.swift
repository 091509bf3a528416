// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI

/// Finds out what a media file has, in a process of its own.
struct MediaInspection: Sendable {
    let commands: any CommandRunning

    private static let timeLimit = 60.0

    /// Returns what a file has.
    ///
    /// - Parameter input: How the file is read.
    /// - Throws: `APIError` `invalid-request` if it is no media.
    func report(on path: String, as input: Input) async throws -> MediaReport {
        var arguments = ["inspect", path, "--json"]
        if let format = input.format { arguments.append("--input-format=\(format)") }
        if let rate = input.frameRate { arguments.append("--input-fps=\(rate)") }
        let command = WorkerCommand(
            arguments: arguments,
            readable: [path],
            readsInput: true,
            tellsProgress: false,
            timeLimit: Self.timeLimit
        )
        let ended = try await commands.run(command) { _ in
        } onLogLine: { _ in
        }
        guard [.status(0), .status(3)].contains(ended.exit), let document = ended.json else {
            let error = ended.json?["error"]
            throw APIError(
                .invalidRequest,
                error?["message"]?.string ?? "The file cannot be read as media: \(ended.exit)",
                field: "/input",
                value: error?["code"].map { $0 },
                allowed: error?["allowed"]?.string,
                remedies: error?["remedies"]?.elements.compactMap(\.string) ?? [],
                cause: error?["cause"]?.string
            )
        }
        return try MediaReport.decode(json: Self.upright(document), mode: .response)
    }

    /// The document with the sizes of pictures as they are shown.
    private static func upright(_ document: JSONValue) -> JSONValue {
        guard case .object(var report) = document else { return document }
        let tracks = (report["tracks"]?.elements ?? []).map { track -> JSONValue in
            guard case .object(var shown) = track else { return track }
            if let width = shown["displayWidth"], width != .null { shown["width"] = width }
            if let height = shown["displayHeight"], height != .null { shown["height"] = height }
            return .object(shown)
        }
        report["tracks"] = .array(tracks)
        return .object(report)
    }
}

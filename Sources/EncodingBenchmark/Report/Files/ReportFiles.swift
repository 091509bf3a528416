// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaIO
public import MediaTypes

extension BenchmarkReport {
    /// Writes `report.json`, `report.csv` and `report.html` to an existing folder. Each file appears when it is
    /// complete and replaces an existing one.
    ///
    /// - Returns: The paths.
    /// - Throws: `inputOutput`, `invalidArgument` if a file cannot be written there.
    @discardableResult
    public func write(toFolder folder: String) throws(MediaError) -> [String] {
        let contents: [(name: String, bytes: [UInt8])] = [
            ("report.json", try json()), ("report.csv", [UInt8](csv.utf8)), ("report.html", [UInt8](html.utf8)),
        ]
        var paths: [String] = []
        for (name, bytes) in contents {
            let path = "\(folder)/\(name)"
            try WholeFile.write(bytes, to: path)
            paths.append(path)
        }
        return paths
    }

    /// Reads a report's JSON file.
    ///
    /// - Throws: `inputOutput` if the file cannot be read; otherwise as ``init(json:name:)``.
    public init(path: String) throws(MediaError) {
        try self.init(json: [UInt8](try BenchmarkFile.text(path).utf8), name: path)
    }
}

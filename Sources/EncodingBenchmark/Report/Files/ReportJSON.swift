// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
public import MediaTypes

extension BenchmarkReport {
    /// Returns the document that `docs/bench-report.md` describes, with the derived figures under `derived`.
    ///
    /// - Throws: `invalidArgument` if a number in the report is infinite or not a number.
    public func json() throws(MediaError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return [UInt8](try encoder.encode(Document(report: self)) + Data("\n".utf8))
        } catch {
            throw MediaError(
                .invalidArgument,
                "the report cannot be written as JSON",
                given: "\(error)",
                allowed: "finite numbers"
            )
        }
    }

    /// Parses a document that `docs/bench-report.md` describes.
    ///
    /// - Parameters:
    ///   - json: The document in UTF-8.
    ///   - name: The name of the document in errors: its path.
    /// - Throws: `malformedData` if it is not a report in a supported format, or contains impossible values.
    public init(json: [UInt8], name: String) throws(MediaError) {
        let decoder = JSONDecoder()
        do {
            let format = try decoder.decode(FormatOnly.self, from: Data(json)).format
            guard format == Self.currentFormat else {
                throw MediaError(
                    .malformedData,
                    "\(name) is a report in another format version",
                    given: "format \(format)",
                    allowed: "format \(Self.currentFormat)"
                )
            }
            self = try decoder.decode(Self.self, from: Data(json))
        } catch let error as MediaError {
            throw error
        } catch {
            throw MediaError(.malformedData, "\(name) is not a benchmark report", given: Self.text(of: error))
        }
        try check(name: name)
    }

    private struct FormatOnly: Decodable { var format: Int }

    /// A report with its derived figures.
    private struct Document: Encodable {
        let report: BenchmarkReport

        enum CodingKeys: CodingKey { case derived }

        func encode(to encoder: any Swift.Encoder) throws {
            try report.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(DerivedDocument(DerivedFigures(report)), forKey: .derived)
        }
    }

    private static func text(of error: any Error) -> String {
        func place(_ context: DecodingError.Context) -> String {
            context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        }
        return switch error {
        case DecodingError.keyNotFound(let key, let context): "no \(key.stringValue) in \(place(context))/"
        case DecodingError.typeMismatch(_, let context): "\(place(context)): \(context.debugDescription)"
        case DecodingError.valueNotFound(_, let context): "\(place(context)): \(context.debugDescription)"
        case DecodingError.dataCorrupted(let context): "\(place(context)): \(context.debugDescription)"
        default: "\(error)"
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes
internal import VAToolbox

extension DecodersReport {
    /// Returns the report for a terminal: the input, the figures of each decoder, the comparison with the software decoder,
    /// and whether the frames are equal.
    ///
    /// - Parameter width: The width of the terminal in columns.
    package func text(width: Int) -> String {
        let warnings = warnings
        let parts = [
            introduction(width), figureTable(width), comparisonTable(width), agreement(width), rejectionText(width),
            warnings.cautionText(width: width),
        ]
        return warnings.bannerText(width: width) + parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private func introduction(_ width: Int) -> String {
        let codec = input.codec == .h264 ? "H.264" : "HEVC"
        let file = input.path.split(separator: "/").last.map(String.init) ?? input.path
        let part = input.limit == nil ? "" : ", the beginning of the file"
        let text =
            "\(file): \(codec), \(input.width)x\(input.height), \(Readable.count(input.samples, "sample")) "
            + "(\(Readable.byteCount(Int64(input.bytes)))\(part))"
        let names = decoders.map { decoder in
            let threads =
                decoder.device == nil
                ? ", \(threadCount == 0 ? "a thread per processor" : "threads: \(threadCount)")" : ""
            return wrapped("\(decoder.id): \(decoder.name)\(threads)", width: width, indentation: 2)
        }
        return wrapped(text, width: width) + names.joined()
    }

    private func figureTable(_ width: Int) -> String {
        let columns = [
            TextTable.Column(title: "decoder", isNumber: false), TextTable.Column(title: "fps"),
            TextTable.Column(title: "from…to"), TextTable.Column(title: "first ms"), TextTable.Column(title: "CPU ms"),
            TextTable.Column(title: "copies"),
        ]
        let rows = measuredDecoders.map { decoder in
            let figures = Dictionary(uniqueKeysWithValues: figures(of: decoder).map { ($0.figure, $0.interval) })
            func text(_ figure: DecoderFigure, scale: Double = 1, places: Int) -> String {
                figures[figure].map { Readable.number($0.median * scale, places: places) } ?? "-"
            }
            let spread = figures[.framesPerSecond].map { speed in
                speed.count > 1
                    ? "\(Readable.number(speed.low, places: 1))…\(Readable.number(speed.high, places: 1))" : "-"
            }
            return [
                decoder.id, text(.framesPerSecond, places: 1), spread ?? "-",
                text(.timeToFirstFrame, scale: 1e3, places: 1), text(.processorPerFrame, scale: 1e3, places: 2),
                text(.copiesPerFrame, places: 2),
            ]
        }
        let title =
            "medians of \(Readable.count(repeats, "round")): speed, time to the first frame, CPU and copies per frame"
        return wrapped(title, width: width) + TextTable(columns, rows, width: width, indentation: 2).text
    }

    private func comparisonTable(_ width: Int) -> String {
        let comparisons = comparisons
        guard !comparisons.isEmpty else { return "" }
        let columns = ["decoder", "speed", "CPU per frame"].map { TextTable.Column(title: $0, isNumber: false) }
        let rows = comparisons.map { comparison in
            [
                comparison.decoder, Self.text(comparison.speed, larger: "faster", smaller: "slower"),
                Self.text(comparison.processorTime, larger: "more", smaller: "less"),
            ]
        }
        let confidence = comparisons.compactMap { $0.speed.value?.interval.confidence }.min() ?? 1
        let shortfall =
            confidence < 0.95
            ? wrapped("fewer than 6 rounds: no verdict at 95 % confidence (use --repeats 6 or more)", width: width) : ""
        return wrapped("compared with software, round by round: median ratio (confidence interval)", width: width)
            + TextTable(columns, rows, width: width, indentation: 2).text + shortfall
    }

    /// Returns a ratio with its interval, and what it means only where the interval permits a verdict.
    private static func text(_ ratio: Measured<PairedRatio>, larger: String, smaller: String) -> String {
        guard let ratio = ratio.value else { return "-" }
        func number(_ value: Double) -> String { Readable.number(value, places: 2) }
        let word =
            switch ratio.confidentVerdict {
            case .firstIsLarger: larger
            case .secondIsLarger: smaller
            case .equalWithinNoise, nil: "unclear"
            }
        let interval = ratio.interval
        return "\(number(interval.median))x (\(number(interval.low))…\(number(interval.high))) \(word)"
    }

    private func agreement(_ width: Int) -> String {
        decoders.compactMap { decoder in
            decoder.agreement.map { wrapped($0, width: width, indentation: 2) }
        }.joined()
    }

    private func rejectionText(_ width: Int) -> String {
        rejections.map { rejection in
            // The errors of sessions often name the device.
            let reason = rejection.reason.contains(rejection.name) ? rejection.reason : rejection.description
            return wrapped("not measured: \(reason)", width: width, indentation: 2)
                + rejection.remedies.map { wrapped("try: \($0)", width: width, indentation: 2) }.joined()
        }.joined()
    }
}

extension DecodersReport.Decoder {
    /// Whether the frames are those of the software decoder, for people; `nil` for the software decoder itself.
    package var agreement: String? {
        switch comparison {
        case nil: return nil
        case .absent(let reason): return "\(id): the frames could not be compared: \(reason)"
        case .value(let comparison):
            guard let first = comparison.first else {
                guard comparison.compared > 0 else { return "\(id): no frame could be compared" }
                let count = Readable.count(comparison.compared, comparison.damaged > 0 ? "undamaged frame" : "frame")
                return "\(id): \(count), equal to the software decoder's"
            }
            let differing = comparison.differing == 1 ? "1 frame differs" : "\(comparison.differing) frames differ"
            let time = first.presentationTime
            let place = time.isValid ? " at \(Readable.number(time.seconds, places: 3)) s" : ""
            return "\(id): \(differing) from the software decoder's; the first is frame \(first.index)\(place): "
                + first.kind.text
        }
    }
}

extension FrameComparison.Kind {
    fileprivate var text: String {
        switch self {
        case .samples: "its samples differ"
        case .missing: "it is missing"
        case .surplus: "the software decoder has no such frame"
        case .order: "it is out of order"
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
import MediaTypes

/// One copy, from an open input to the finished output.
struct RemuxCopy {
    private let request: RemuxRequest
    private let cancellation: Cancellation
    private let source: PacketSource
    private let sink: MediaSink
    private let selection: TrackSelection
    /// What the output lacks, as far as it is known before it is written.
    private var losses: [RemuxLoss]

    /// The number of packets between two checks and reports.
    private static let interval = 64

    /// Opens the input and, when everything is accepted, the output.
    init(
        _ request: RemuxRequest,
        _ cancellation: Cancellation,
        _ abandonment: Cancellation
    ) throws(MediaError) {
        (self.request, self.cancellation) = (request, cancellation)
        let options = request.sinkOptions
        let format =
            if let format = options.format { format } else { try ContainerFormat(name: nil, path: request.output) }
        source = try PacketSource(
            path: request.input,
            options: request.sourceOptions(format),
            logger: request.logger,
            cancellation: cancellation
        )
        selection = try TrackSelection(source.tracks, format)
        losses = selection.losses
        losses += source.ignored.map { stream in
            RemuxLoss(track: stream.index, property: "\(stream.kind) \(stream.codecName)", detail: stream.reason)
        }
        sink = try MediaSink(
            path: request.output,
            options: options,
            logger: request.logger,
            cancellation: cancellation,
            abandonment: abandonment
        )
        for track in selection.tracks {
            guard case .refused(let reason) = try sink.addTrack(track) else { continue }
            // A pipe may support less than a file.
            throw TrackSelection.refusal(of: track, reason, format)
        }
        let (chapters, metadata) = (source.chapters, source.metadata)
        if !chapters.isEmpty, case .refused(let reason) = try sink.setChapters(chapters) {
            losses.append(RemuxLoss(track: nil, property: "chapters", detail: reason))
        }
        if !metadata.isEmpty, case .refused(let reason) = try sink.setMetadata(source.keptMetadata) {
            losses.append(RemuxLoss(track: nil, property: "metadata", detail: reason))
        }
    }

    /// Copies everything. Without success, no file is left.
    func run(_ signals: Remuxer.Signals) throws(MediaError) -> RemuxReport {
        var copied = Dictionary(uniqueKeysWithValues: selection.tracks.map { ($0.index, RemuxedTrack($0)) })
        var progress = RemuxProgress()
        progress.expectedDuration = source.expectedDuration
        var problems = SourceProblems()
        var wasStopped = false
        func write(_ packet: MediaPacket) throws(MediaError) {
            guard copied[packet.track.index] != nil else { return }
            do {
                try sink.write(packet)
            } catch  where error.code == .malformedData && sink.isOpen {
                problems.noteLostPacket(error)
                return
            }
            copied[packet.track.index]?.packetCount += 1
            copied[packet.track.index]?.byteCount += packet.byteCount
            progress.packets += 1
            progress.bytes += packet.byteCount
            if packet.presentationTime.isValid { progress.time = max(progress.time, packet.presentationTime) }
        }
        do throws(MediaError) {
            for packet in try source.coverPackets() { try write(packet) }
            while let packet = try next(signals, &wasStopped) {
                try write(packet)
                guard progress.packets % Self.interval == 0 else { continue }
                signals.note(progress)
                if signals.isCancelled() { throw MediaError(.cancelled, "the copy was cancelled") }
            }
            if signals.isCancelled() { throw MediaError(.cancelled, "the copy was cancelled") }
            problems.add(source.problems)
            return try finish(selection.tracks.compactMap { copied[$0.index] }, problems, wasStopped)
        } catch {
            sink.abort()
            throw error
        }
    }

    /// Returns the next packet; `nil` at the end, and when the copy was stopped.
    private func next(_ signals: Remuxer.Signals, _ wasStopped: inout Bool) throws(MediaError) -> MediaPacket? {
        do {
            return try source.next()
        } catch  where error.code == .cancelled && signals.isStopped() && !signals.isCancelled() {
            wasStopped = true
            return nil
        }
    }

    private func finish(
        _ tracks: [RemuxedTrack],
        _ problems: SourceProblems,
        _ wasStopped: Bool
    ) throws(MediaError) -> RemuxReport {
        try sink.complete()
        let compared = wasStopped ? nil : lossesOfProperties()
        let summary = try sink.finish()
        let start = request.start.flatMap { requested in
            requested > .zero ? RemuxStart(requested: requested, actual: source.start) : nil
        }
        return RemuxReport(
            inputFormat: source.formatName,
            format: sink.format,
            isFragmented: sink.isFragmented,
            tracks: tracks,
            losses: losses + (compared ?? []) + lossesOfParts,
            isCompared: compared != nil,
            start: start,
            output: summary,
            problems: problems,
            wasStopped: wasStopped
        )
    }
}

// MARK: - Losses

extension RemuxCopy {
    /// Returns the properties of the input that the complete output does not state; `nil` if it cannot be read.
    private func lossesOfProperties() -> [RemuxLoss]? {
        guard let path = sink.temporaryPath else { return nil }
        var options = PacketSource.Options()
        // A raw stream may have no frame rate, which is no matter here.
        options.frameRate = sink.format.requiredCodec == nil ? nil : Rational(25)
        options.format = sink.format.requiredCodec?.rawValue
        let copy = try? PacketSource(path: path, options: options, logger: request.logger, cancellation: cancellation)
        guard let copy else { return nil }
        var given = source.properties
        let known = Set(losses.filter { $0.track == nil }.map(\.property))
        given.values = given.values.filter { key, _ in
            !(known.contains("chapters") && key.hasPrefix("chapter ")) && !known.contains("metadata")
                || key == "timecode"
        }
        var found = given.losses(in: copy.properties, tracks: selection.tracks.map(\.index)).map { loss in
            RemuxLoss(track: loss.track, property: loss.property, detail: loss.value)
        }
        if sink.format.requiredCodec != nil {
            found.append(
                RemuxLoss(track: selection.tracks.first?.index, property: "times", detail: "raw streams have none")
            )
        }
        return found
    }

    /// What cutting has added to the output, or left out.
    private var lossesOfParts: [RemuxLoss] {
        var losses: [RemuxLoss] = []
        func add(_ count: Int, _ property: String, _ reason: String) {
            guard count > 0 else { return }
            losses.append(
                RemuxLoss(track: nil, property: property, detail: "\(Readable.count(count, "picture")) \(reason)")
            )
        }
        let excess = source.excessCount
        add(excess.before, "edit list", "before the start, which the input hides")
        let hidesEnd = sink.format.canBeFragmented && !sink.isFragmented
        if !hidesEnd { add(excess.after, "exact end", "after the end, which others need") }
        add(source.skippedCount, "pictures", "before the first key frame")
        return losses
    }
}

/// The tracks of an input that go into an output.
struct TrackSelection {
    let tracks: [MediaTrack]
    let losses: [RemuxLoss]

    /// - Throws: `invalidArgument` if the container does not support a video or audio track.
    init(_ all: [MediaTrack], _ format: ContainerFormat) throws(MediaError) {
        var (tracks, losses): ([MediaTrack], [RemuxLoss]) = ([], [])
        for track in all {
            let isRaw = format.requiredCodec != nil
            var reason = track.refusal(by: format)
            if isRaw, reason == nil, !tracks.isEmpty { reason = "\(format.rawValue) holds one track" }
            guard let reason else {
                tracks.append(track)
                continue
            }
            if !isRaw, track.kind == .video || track.kind == .audio, !track.isCover {
                throw Self.refusal(of: track, reason, format)
            }
            let kind = track.isCover ? "cover picture" : track.kind.rawValue
            let name = track.fileName ?? track.codecName
            losses.append(RemuxLoss(track: track.index, property: "\(kind) \(name)", detail: reason))
        }
        guard tracks.contains(where: { $0.kind == .video || $0.kind == .audio }) else {
            throw MediaError(
                .invalidArgument,
                "the output format does not support any track of the input",
                given: all.map { "\($0.codecName) \($0.kind.rawValue)" }.joined(separator: ", "),
                allowed: format.requiredCodec.map { "\($0.rawValue) video" }
                    ?? "a codec that \(format.rawValue) supports"
            )
        }
        (self.tracks, self.losses) = (tracks, losses)
    }

    /// Returns the error about a track that the container does not support.
    static func refusal(of track: MediaTrack, _ reason: String, _ format: ContainerFormat) -> MediaError {
        let others = ContainerFormat.allCases.filter { $0 != .null && $0 != format && track.refusal(by: $0) == nil }
        let containers =
            others.isEmpty ? "" : "the output format \(others.map(\.rawValue).joined(separator: " or ")), or "
        return MediaError(
            .invalidArgument,
            reason,
            given: "track \(track.index)",
            allowed: containers + "other tracks only",
            remedies: [
                "leave the track out: --tracks with the numbers of the others",
                "encode it: vatoolbox encode",
            ]
        )
    }
}

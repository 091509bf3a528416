// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

/// What a file states besides its packets: the properties that a copy into another container may lose.
package struct FileProperties: Sendable, Hashable {
    /// The properties of a track.
    package struct Track: Sendable, Hashable {
        /// The index of the stream.
        package var index: Int
        package var kind: MediaTrack.Kind
        /// Whether it is a cover picture. Matroska stores covers as attachments.
        package var isCover = false
        /// Named properties in a comparable form, such as `language` and `rotation`.
        package var values: [String: String] = [:]

        package init(index: Int, kind: MediaTrack.Kind, isCover: Bool = false, values: [String: String] = [:]) {
            (self.index, self.kind, self.isCover, self.values) = (index, kind, isCover, values)
        }
    }

    /// Something that the copy lacks.
    package struct Loss: Sendable, Hashable {
        /// The track of the input; `nil` for the whole file.
        package var track: Int?
        /// What is lost, for example `language`.
        package var property: String
        /// The value in the input.
        package var value: String

        package init(track: Int?, property: String, value: String) {
            (self.track, self.property, self.value) = (track, property, value)
        }
    }

    package var tracks: [Track]
    /// Named properties of the whole file.
    package var values: [String: String]

    package init(tracks: [Track], values: [String: String]) { (self.tracks, self.values) = (tracks, values) }

    /// Returns what a copy lacks. Tracks correspond by their kind and order.
    ///
    /// - Parameters:
    ///   - copy: The properties of the output.
    ///   - indices: The tracks of the input that are in the output, in its order.
    package func losses(in copy: FileProperties, tracks indices: [Int]) -> [Loss] {
        var losses = Self.missing(from: values, in: copy.values, track: nil)
        var counts: [Group: Int] = [:]
        for index in indices {
            guard let track = tracks.first(where: { $0.index == index }) else { continue }
            let group = Group(track)
            let number = counts[group, default: 0]
            counts[group] = number + 1
            let same = copy.tracks.filter { Group($0) == group }
            guard number < same.count else {
                losses.append(Loss(track: index, property: track.name, value: track.values["name"] ?? ""))
                continue
            }
            // Attachments change their order.
            let attachment = same.first { $0.kind == .attachment && $0.values["name"] == track.values["name"] }
            losses += Self.missing(from: track.values, in: (attachment ?? same[number]).values, track: index)
        }
        return losses
    }

    private struct Group: Hashable {
        let kind: MediaTrack.Kind
        let isCover: Bool

        init(_ track: Track) { (kind, isCover) = (track.kind, track.isCover) }
    }

    private static func missing(from values: [String: String], in copy: [String: String], track: Int?) -> [Loss] {
        values.filter { copy[$0.key] != $0.value }.sorted { $0.key < $1.key }
            .map { Loss(track: track, property: $0.key, value: $0.value) }
    }
}

extension FileProperties.Track {
    /// What it is called in a list of losses.
    fileprivate var name: String { isCover ? "cover picture" : kind.rawValue }
}

// MARK: - Files

extension PacketSource {
    /// What the input states besides its packets. Chapters are those of the whole input.
    package var properties: FileProperties {
        var values: [String: String] = [:]
        for (key, value) in metadata where !Self.isOfContainer(key) { values[key.lowercased()] = value }
        // QuickTime states it for a track, Matroska and FFmpeg for the file.
        if values["timecode"] == nil, let code = streams.lazy.compactMap({ $0.stream.pointee.text("timecode") }).first {
            values["timecode"] = code
        }
        for (number, chapter) in chapters.enumerated() {
            values["chapter \(number + 1)"] = chapter.title ?? "untitled"
        }
        return FileProperties(tracks: streams.map(properties), values: values)
    }

    /// The metadata of the whole file for the output, with the timecode of a track.
    package var keptMetadata: [String: String] {
        var kept = metadata.filter { key, _ in !Self.isOfContainer(key) || key.lowercased() == "creation_time" }
        if let code = properties.values["timecode"] { kept["timecode"] = code }
        return kept
    }

    /// The metadata that describe the file of the input and not what is in it.
    private static func isOfContainer(_ key: String) -> Bool {
        SegmentSink.ofContainer.contains(key.lowercased()) || key.lowercased() == "duration"
    }

    private func properties(of stream: CopiedStream) -> FileProperties.Track {
        let kind = tracks.first { $0.index == stream.index }?.kind ?? .data
        var track = FileProperties.Track(index: stream.index, kind: kind, isCover: stream.isCover)
        if stream.isCover { track.kind = .video }
        let text = { (key: String) in stream.stream.pointee.text(key) }
        if kind == .attachment || stream.isCover {
            track.values["name"] = stream.isCover ? nil : text("filename")
            return track
        }
        if let language = text("language"), language != "und" {
            track.values["language"] = LanguageCode.canonical(language)
        }
        if let title = text("title") ?? stream.handlerTitle { track.values["title"] = title }
        for (key, value) in stream.details.kept
        where !["handler_name", "creation_time", "timecode", "rotate"].contains(key.lowercased()) {
            track.values[key.lowercased()] = value
        }
        let isFirst = !streams.contains { $0.kind == stream.kind && $0.index < stream.index }
        for (flag, name) in stream.dispositions where !(isFirst && flag == AV_DISPOSITION_DEFAULT) {
            track.values["disposition \(name)"] = "set"
        }
        if stream.details.priming > 0 { track.values["priming"] = "\(stream.details.priming) samples" }
        track.values.merge(stream.pictureValues) { first, _ in first }
        return track
    }
}

extension CopiedStream {
    /// MP4 has the title of a track in the name of its handler; the usual names are none.
    fileprivate var handlerTitle: String? {
        guard let name = stream.pointee.text("handler_name"), !name.hasSuffix("Handler"),
            !name.contains("Media Handler"),
            !name.isEmpty
        else { return nil }
        return name
    }

    /// The disposition flags that a copy keeps, with their names.
    fileprivate var dispositions: [(flag: Int32, name: String)] {
        let ignored = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS | AV_DISPOSITION_STILL_IMAGE
        return stream.pointee.dispositions.filter { $0.flag & ignored == 0 }
    }

    /// Rotation, pixel aspect ratio, colour and HDR metadata.
    fileprivate var pictureValues: [String: String] {
        guard isVideo else { return [:] }
        var values: [String: String] = [:]
        let parameters = stream.pointee.codecpar.pointee
        let ratio = details.pixelAspectRatio
        if ratio.num > 0, ratio.num != ratio.den { values["pixel aspect ratio"] = "\(ratio.num):\(ratio.den)" }
        let color = [
            (
                "colour primaries", parameters.color_primaries.rawValue,
                av_color_primaries_name(parameters.color_primaries)
            ),
            ("transfer", parameters.color_trc.rawValue, av_color_transfer_name(parameters.color_trc)),
            ("colour matrix", parameters.color_space.rawValue, av_color_space_name(parameters.color_space)),
        ]
        for (name, code, text) in color where code != 2 && !(name == "colour matrix" && code == 0) {
            values[name] = text.map { String(cString: $0) } ?? "\(code)"
        }
        if parameters.color_range == AVCOL_RANGE_JPEG { values["colour range"] = "full" }
        for data in details.sideData {
            guard let name = Self.sideDataNames[data.type.rawValue] else { continue }
            if name == "rotation", Self.rotation(data.bytes) == Orientation.upright.rawValue { continue }
            values[name] = name == "rotation" ? Self.rotation(data.bytes) : "stated"
        }
        return values
    }

    /// The orientation that a display matrix states.
    private static func rotation(_ bytes: [UInt8]) -> String {
        Orientation(displayMatrix: bytes).rawValue
    }

    /// The properties of a stream beside its packets that a container can state.
    private static let sideDataNames: [UInt32: String] = [
        AV_PKT_DATA_DISPLAYMATRIX.rawValue: "rotation",
        AV_PKT_DATA_MASTERING_DISPLAY_METADATA.rawValue: "mastering display",
        AV_PKT_DATA_CONTENT_LIGHT_LEVEL.rawValue: "content light level",
        AV_PKT_DATA_STEREO3D.rawValue: "stereo 3D",
        AV_PKT_DATA_SPHERICAL.rawValue: "spherical video",
        AV_PKT_DATA_DOVI_CONF.rawValue: "Dolby Vision configuration",
    ]
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import NIOCore
internal import StreamingPlaylists

/// Where the files of a presentation are kept: in memory, in a folder, or on another server.
protocol LiveStore: AnyObject, Sendable {
    /// Whether requests are answered when the playlist has what they ask for.
    var holdsRequests: Bool { get }

    /// Keeps a file, which no playlist names yet.
    func write(_ path: String, _ content: [ByteBuffer]) throws(MediaError)

    /// Publishes playlists, whose files are kept already.
    func publish(_ state: PresentationState) throws(MediaError)

    /// Deletes files that nobody may ask for any more.
    func remove(_ paths: [String])
}

/// The playlists of a presentation at a moment.
struct PresentationState: Sendable {
    /// A media playlist.
    struct Entry: Sendable {
        /// The folder of the playlist and its files.
        var folder: String
        var playlist: LiveMediaPlaylist

        /// Whether it lists nothing yet.
        var isEmpty: Bool { playlist.segmentCount == 0 && playlist.edge.openPartCount == 0 }

        /// The path of the playlist.
        var path: String { "\(folder)/\(Rendition.playlistName)" }
    }

    /// The text of the multivariant playlist.
    var multivariant: String
    var entries: [Entry]

    static let multivariantPath = "index.m3u8"

    /// The text of a media playlist, which reports on the others if it has parts.
    func text(_ index: Int, skipping: LiveMediaPlaylist.DeltaUpdate? = nil) -> String {
        let playlist = entries[index].playlist
        guard playlist.options.partTarget != nil else { return playlist.text(skipping: skipping) }
        let reports = entries.indices.filter { $0 != index }.compactMap {
            entries[$0].playlist.report(as: "../\(entries[$0].path)")
        }
        return playlist.text(reports: reports, skipping: skipping)
    }
}

extension PresentationState {
    /// The state at a place that some files have never reached.
    ///
    /// - Parameter paths: The paths of the files, with their folders.
    func withoutFiles(_ paths: Set<String>) -> PresentationState {
        guard !paths.isEmpty else { return self }
        var result = self
        for index in entries.indices {
            let prefix = "\(entries[index].folder)/"
            let names = paths.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
            if !names.isEmpty { result.entries[index].playlist = entries[index].playlist.withoutFiles(Set(names)) }
        }
        return result
    }
}

/// The texts of playlists that a place without a server of our own has, and what it needs to have those of a state.
struct PublishedTexts: Sendable {
    /// A playlist as text.
    struct Text: Sendable, Hashable {
        var path: String
        var content: String
    }

    private var texts: [String: String] = [:]

    /// How many segments the video has before it is announced without the sound that should be there.
    private static let patience = 2

    /// The media playlists that are new or have changed.
    func mediaPlaylists(of state: PresentationState) -> [Text] {
        state.entries.indices.filter { !state.entries[$0].isEmpty }
            .map { Text(path: state.entries[$0].path, content: state.text($0)) }
            .filter { texts[$0.path] != $0.content }
    }

    /// The multivariant playlist, once there is what it names; `nil` if it has not changed.
    func multivariantPlaylist(of state: PresentationState) -> Text? {
        let isWhole = !state.entries.contains(where: \.isEmpty)
        let isLate = state.entries.contains { $0.playlist.segmentCount >= Self.patience }
        guard isWhole || isLate, texts[PresentationState.multivariantPath] != state.multivariant else { return nil }
        return Text(path: PresentationState.multivariantPath, content: state.multivariant)
    }

    /// Notes that the place has a text.
    mutating func note(_ text: Text) { texts[text.path] = text.content }
}

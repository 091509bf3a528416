// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import NIOCore
internal import StreamingPlaylists

/// Where the files of a presentation are kept: in memory or in a folder.
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

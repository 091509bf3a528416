// SPDX-License-Identifier: GPL-2.0-or-later

package import Logging
package import MediaTypes
package import Streaming
internal import Synchronization

/// A live stream of HTTP Live Streaming: its presentation, and the folder or the server that has it.
///
/// It outlives the connections of its output. Everything is opened by the first one.
package final class HLSDestination: Sendable {
    /// Where the stream goes.
    package let address: HLSAddress

    /// The names of the renditions of the video; none if there is one.
    private let renditions: [String]
    private let options: HLSOptions
    private let authorities: String?
    private let logger: Logger
    private let opened = Mutex<Opened?>(nil)

    private struct Opened {
        var presentation: LivePresentation
        var place: any HLSPlace
    }

    /// Makes a destination that has not begun.
    ///
    /// - Parameters:
    ///   - keyFrameInterval: The largest distance of key frames that the encoder keeps, if it keeps one.
    ///   - authorities: A file in PEM with the certificates of the authorities to trust, if files are sent to a server;
    ///     `nil` for those of the system.
    ///   - renditions: The names of the renditions of the video, the highest one first; none if there is one.
    ///   - logger: The log of the server.
    /// - Throws: `invalidArgument` if key frames are further apart than segments may be long.
    package init(
        _ address: HLSAddress,
        keyFrameInterval: MediaTime? = nil,
        authorities: String? = nil,
        renditions: [String] = [],
        logger: Logger = Logger(label: "vatoolbox.hls")
    ) throws(MediaError) {
        (self.address, self.renditions) = (address, renditions)
        var options = address.options
        options.keyFrameInterval = keyFrameInterval ?? options.keyFrameInterval
        try options.validate()
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        (self.options, self.authorities, self.logger) = (options, authorities, logger)
    }

    deinit { opened.withLock { $0?.place }?.stop() }

    /// The names of the codecs of audio that it carries, as FFmpeg has them.
    package static let audioCodecs = ["aac", "ac3", "eac3", "mp3", "flac", "alac"]

    /// The port on which the server listens; `nil` without one, or before the first connection.
    package var port: Int? { opened.withLock { ($0?.place as? HLSOrigin)?.port } }

    /// Makes the output that sends to this destination.
    ///
    /// - Parameter rendition: The number of the rendition that it sends; each has an output of its own.
    /// - Throws: `invalidArgument` for another place than a folder if only some addresses may be used: the clients and
    ///   servers of HTTP cannot be held to them.
    package func makeOutput(
        _ options: LiveOutput.Options = .init(),
        rendition: Int = 0
    ) throws(MediaError) -> LiveOutput {
        if options.limits.addresses != nil, !address.place.isFolder {
            throw MediaError(
                .invalidArgument,
                "HLS by a network is not possible with public addresses only",
                given: address.description,
                allowed: "hls:FOLDER"
            )
        }
        var options = options
        // Playlists continue over connections.
        options.restartsTimes = false
        let age = options.queue.age
        return try LiveOutput(address: address.description, options: options) {
            [self] (tracks, limits, stop) throws(MediaError) in
            try connect(tracks, limits, stop, rendition: rendition, largestAge: age)
        }
    }

    /// Begins or continues the stream.
    ///
    /// - Parameters:
    ///   - rendition: The number of the rendition that the connection brings.
    ///   - largestAge: How many seconds files may wait for a server, at least three target durations.
    /// - Throws: `unavailable` if the server cannot listen; `invalidArgument` for a folder that has another stream, or
    ///   files of TLS that cannot be used; `inputOutput`; as ``LivePackager/begin(_:rendition:at:)``, and if files are sent
    ///   to a server, as ``UploadStore/connect(_:_:)``.
    package func connect(
        _ tracks: LiveTracks,
        _ limits: ConnectionLimits,
        _ stop: StopSignal,
        rendition: Int = 0,
        largestAge: Double = 0
    ) throws(MediaError) -> any LiveConnection {
        // The outputs of all renditions connect at the same time, and the first one opens.
        let opened = try opened.withLock { (opened) throws(MediaError) in
            let known = if let opened { opened } else { try open(limits, largestAge) }
            opened = known
            return known
        }
        try opened.place.connect(limits, stop)
        return try HLSConnection(
            to: opened.presentation,
            rendition: rendition,
            at: opened.place,
            tracks: tracks,
            stop: stop
        )
    }

    private func open(_ limits: ConnectionLimits, _ largestAge: Double) throws(MediaError) -> Opened {
        let made: Opened
        switch address.place {
        case .folder(let path, let replacesOlder):
            let store = try FolderStore(path: path, replacesOlder: replacesOlder)
            let presentation = try LivePresentation(options, store: store, renditions: renditions)
            made = Opened(presentation: presentation, place: store)
        case .upload(let target):
            let client = try UploadClient(target, authorities: authorities, silence: limits.silence)
            let age = max(largestAge, 3 * options.target.seconds)
            let store = UploadStore(client, target: options.target.seconds, largestAge: age, logger: logger)
            let presentation = try LivePresentation(options, store: store, renditions: renditions)
            made = Opened(presentation: presentation, place: store)
        case .server(let host, let port, let tls):
            let store = MemoryStore()
            let presentation = try LivePresentation(options, store: store, renditions: renditions)
            let origin = HLSOrigin(store, host: host, port: port, tls: tls, logger: logger)
            try origin.start(within: limits.connecting)
            made = Opened(presentation: presentation, place: origin)
        }
        return made
    }
}

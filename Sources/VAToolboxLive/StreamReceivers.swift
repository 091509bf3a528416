// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import LiveHLS
import LiveSessions
import MediaTypes
import Streaming

extension StreamOutputArguments {
    /// The renditions of `--ladder`, the highest one first; none without it.
    ///
    /// - Throws: `invalidArgument` for an invalid ladder.
    func renditions() throws(MediaError) -> [LiveRendition] {
        guard let ladder else { return [] }
        let rungs = try ladder.value(of: "--ladder").rungs.sorted { $0.height > $1.height }
        return rungs.map { LiveRendition(name: "\($0.height)p", height: $0.height, bitRate: $0.bitRateOrUsual) }
    }

    /// The receivers, with the secrets of the environment.
    ///
    /// - Parameters:
    ///   - renditions: The renditions.
    ///   - keyFrameInterval: The largest distance of key frames.
    /// - Throws: `invalidArgument` for an address or a rendition that is not valid.
    func receivers(
        _ renditions: [LiveRendition],
        keyFrameInterval: MediaTime?
    ) throws(MediaError) -> [StreamingSession.Receiver] {
        guard !to.isEmpty else {
            throw MediaError(.invalidArgument, "the stream has no receiver", allowed: "--to URL, once or more")
        }
        let secrets = LiveSecrets(
            streamKey: Environment.take("VATOOLBOX_STREAM_KEY"),
            passphrase: Environment.take("VATOOLBOX_PASSPHRASE"),
            streamID: Environment.take("VATOOLBOX_STREAM_ID")
        )
        let authorization = Environment.take("VATOOLBOX_AUTHORIZATION")
        var receivers: [StreamingSession.Receiver] = []
        for text in to {
            let (rendition, address) = try Self.rendition(of: text, renditions)
            guard HLSAddress.isOne(address) else {
                var destination = try LiveDestination(address, secrets: secrets)
                destination.authorities = caFile
                receivers.append(StreamingSession.Receiver(destination, rendition: rendition ?? 0))
                continue
            }
            let place = try HLSAddress(address, authorization: authorization)
            receivers += try hls(place, rendition, renditions, keyFrameInterval)
        }
        return receivers
    }

    /// An output of HLS for each rendition of one presentation.
    private func hls(
        _ address: HLSAddress,
        _ rendition: Int?,
        _ renditions: [LiveRendition],
        _ keyFrameInterval: MediaTime?
    ) throws(MediaError) -> [StreamingSession.Receiver] {
        // One alone is not named.
        let isLadder = rendition == nil && renditions.count > 1
        let destination = try HLSDestination(
            address,
            keyFrameInterval: keyFrameInterval,
            authorities: caFile,
            renditions: isLadder ? renditions.map(\.name) : []
        )
        guard isLadder else {
            return [
                StreamingSession.Receiver(rendition: rendition ?? 0) { options throws(MediaError) in
                    try destination.makeOutput(options)
                }
            ]
        }
        return renditions.indices.map { Self.receiver(destination, $0) }
    }

    private static func receiver(_ destination: HLSDestination, _ rendition: Int) -> StreamingSession.Receiver {
        StreamingSession.Receiver(rendition: rendition) { options throws(MediaError) in
            try destination.makeOutput(options, rendition: rendition)
        }
    }

    /// Splits `720p=URL`. An address without a rendition has a colon before any equals sign.
    private static func rendition(
        of text: String,
        _ renditions: [LiveRendition]
    ) throws(MediaError) -> (Int?, address: String) {
        let name = text.prefix { $0 != "=" && $0 != ":" && $0 != "/" }
        guard text.dropFirst(name.count).first == "=" else { return (nil, text) }
        guard let index = renditions.firstIndex(where: { $0.name == name }) else {
            throw MediaError(
                .invalidArgument,
                "the receiver is of a rendition that does not exist",
                given: String(name),
                allowed: renditions.isEmpty ? "none without --ladder" : renditions.map(\.name).joined(separator: ", ")
            )
        }
        return (index, String(text.dropFirst(name.count + 1)))
    }
}

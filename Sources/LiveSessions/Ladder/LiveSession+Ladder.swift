// SPDX-License-Identifier: GPL-2.0-or-later

internal import AssetWriting
internal import BitstreamSyntax
internal import MediaTimeline
internal import MediaTypes
internal import Synchronization
internal import VAToolbox

/// The renditions of a session, and when they have key frames.
struct Ladder: Sendable {
    var encoders: [RenditionEncoder]
    /// What passes pictures to them; each ends with the error of its rendition.
    var pumps: [Task<MediaError?, Never>]
    var grid: KeyFrameGrid
    /// Whether pictures wait for the encoders.
    var isPatient: Bool
}

// Several encodes of the same pictures.
extension LiveSession {
    /// Makes the encoders of the renditions. The first one is that of the main writer, which also has the sound.
    func makeLadder(
        _ main: AssetWriter,
        first: PixelBuffer,
        contents: LiveContents,
        isPatient: Bool
    ) async throws(MediaError) -> Ladder {
        var encoders: [RenditionEncoder] = []
        do throws(MediaError) {
            for (index, rendition) in settings.renditions.enumerated() {
                let writer = index == 0 ? main : try await makeWriter(index)
                do throws(MediaError) {
                    var configuration = settings.configuration(for: contents, first: first, rendition: rendition)
                    // Players change between renditions of one codec only.
                    if let codec = encoders.first?.video.session.encoder.identity.codec, configuration.profile == nil {
                        configuration.codec = codec == .h264 ? .h264 : .hevc
                    }
                    let video = try await writer.addVideo(configuration, session: settings.session)
                    encoders.append(RenditionEncoder(writer: writer, video: video, width: configuration.width))
                    note(video.session, of: index, configuration)
                } catch {
                    if index > 0 { await writer.cancel() }
                    throw error
                }
            }
        } catch {
            for encoder in encoders.dropFirst() { await encoder.writer.cancel() }
            throw error
        }
        return Ladder(
            encoders: encoders,
            pumps: [],
            grid: KeyFrameGrid(interval: settings.video.keyFrameInterval.duration ?? Self.usualKeyFrameInterval),
            isPatient: isPatient
        )
    }

    private static let usualKeyFrameInterval = MediaTime(value: 2, timescale: 1)

    private func note(_ session: CompressionSession, of index: Int, _ configuration: EncoderConfiguration) {
        let encoder = session.encoder
        shared.withLock { shared in
            if index == 0 { shared.status.encoder = encoder }
            shared.configuredBitRates.append(configuration.rateControl.bitsPerSecond)
            guard shared.status.renditions.indices.contains(index) else { return }
            shared.status.renditions[index].encoder = encoder
            shared.status.renditions[index].width = configuration.width
        }
    }

    /// Starts the renditions, when the session of the main writer has started.
    func begin(_ ladder: Ladder, at time: MediaTime) async throws(MediaError) -> Ladder {
        for encoder in ladder.encoders.dropFirst() { try await encoder.writer.startSession(.at(time)) }
        var ladder = ladder
        ladder.pumps = ladder.encoders.map { pump($0) }
        return ladder
    }

    private func pump(_ encoder: RenditionEncoder) -> Task<MediaError?, Never> {
        Task { [weak self] in
            do throws(MediaError) {
                try await encoder.run()
                return nil
            } catch {
                await self?.fail(error)
                return error
            }
        }
    }

    /// Passes a picture to all renditions: the same picture is a key frame in all of them.
    func append(_ picture: PixelBuffer, at time: MediaTime, isKeyFrame: Bool) async {
        guard var ladder = work?.ladder else { return }
        let isDue = ladder.grid.isDue(at: time)
        work?.ladder = ladder
        for encoder in ladder.encoders {
            await encoder.append(picture, at: time, isKeyFrame: isKeyFrame || isDue, isPatient: ladder.isPatient)
        }
    }

    /// Takes over what the encoders of the renditions tell.
    func note(_ ladder: Ladder) async {
        var (copied, byEncoder, byCPU) = (0, 0, 0)
        for (index, encoder) in ladder.encoders.enumerated() {
            let statistics = await encoder.video.session.statistics
            copied += statistics.copiedPictures
            byEncoder += statistics.convertedByEncoder
            byCPU += statistics.convertedByCPU
            let (description, dropped) = (encoder.video.session.encoder, encoder.dropped)
            shared.withLock { shared in
                shared.status.renditions[index].encoder = description
                shared.status.renditions[index].encodedPictures = statistics.acceptedFrames
                shared.status.renditions[index].lostByEncoder = dropped
            }
        }
        let duration = ladder.encoders[0].writer.recordedDuration
        shared.withLock { shared in
            shared.status.duration = duration
            shared.status.encoder = shared.status.renditions[0].encoder
            (shared.status.copiedPictures, shared.status.convertedByEncoder) = (copied, byEncoder)
            shared.status.convertedByCPU = byCPU
            shared.status.encodedPictures = shared.status.renditions[0].encodedPictures
            shared.status.lostByEncoder = shared.status.renditions.reduce(0) { $0 + $1.lostByEncoder }
        }
    }

    /// Encodes what waits, and completes all renditions but the first one.
    ///
    /// - Returns: The first error.
    func finish(_ ladder: Ladder) async -> MediaError? {
        var first: MediaError?
        for encoder in ladder.encoders { encoder.end() }
        for pump in ladder.pumps {
            let error = await pump.value
            first = first ?? error
        }
        for encoder in ladder.encoders.dropFirst() {
            do throws(MediaError) {
                _ = try await encoder.writer.finish()
            } catch {
                first = first ?? error
            }
        }
        return first
    }
}

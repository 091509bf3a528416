// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import Glibc
internal import MediaTypes

extension MediaSink.Options {
    /// Checks the options about fragments.
    ///
    /// - Throws: `invalidArgument`.
    func validateFragments() throws(MediaError) {
        let allowed = MediaTime(value: 1, timescale: 10)...MediaTime(value: 600, timescale: 1)
        func check(_ interval: MediaTime?, _ name: String, needs: Bool, _ condition: String) throws(MediaError) {
            guard let interval, !needs || !interval.isValid || !allowed.contains(interval) else { return }
            throw MediaError(
                .invalidArgument,
                "the \(name) is not valid",
                given: "\(interval.seconds) s" + (needs ? "" : " without \(condition)"),
                allowed: "0.1 to 600 s, for \(condition)"
            )
        }
        try check(fragmentInterval, "fragment interval", needs: isFragmented, "fragmented outputs")
        let hasInterval = fragmentInterval != nil
        try check(initialFragmentInterval, "initial fragment interval", needs: hasInterval, "a fragment interval")
        guard isFragmented || !isDefragmented else {
            throw MediaError(
                .invalidArgument,
                "only a fragmented output can be defragmented",
                given: "an output that is not fragmented",
                allowed: "the option isFragmented"
            )
        }
    }
}

extension MediaSink {
    /// Copies a fragmented file, in which everything is written, into a plain one, if that is wanted.
    ///
    /// - Returns: The plain file, which is not committed yet: without a commit, it is deleted when it is released.
    /// - Throws: Why it cannot be written; the fragmented file is as it was.
    func defragmented() throws(MediaError) -> OutputFile? {
        guard options.isDefragmented, isFragmented, let path = file?.readablePath, let target else { return nil }
        try checkSpace(beside: path)
        let plain = try OutputFile(target, abandonment: abandonment)
        plain.counter = writtenBytes
        plain.keepsFile = options.isRescuable
        try rewrite(path, as: plain)
        return plain
    }

    /// A disk that others use, too, is not filled for this.
    private func checkSpace(beside path: String) throws(MediaError) {
        var (status, space) = (stat(), statvfs())
        guard stat(path, &status) == 0, statvfs(path, &space) == 0 else { return }
        let free = Int64(
            clamping: UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize)).partialValue
        )
        guard free < Int64(status.st_size) + Self.spared else { return }
        throw MediaError(
            .inputOutput,
            "the disk has too little space for a second copy of the file",
            given: "\(free) bytes",
            allowed: "\(Int64(status.st_size) + Self.spared) bytes"
        )
    }

    /// What the copy leaves free, in bytes.
    private static let spared: Int64 = 64 << 20

    private func rewrite(_ path: String, as plain: OutputFile) throws(MediaError) {
        guard let muxerName = format.muxerName else { return }
        let demuxer = try Demuxer(
            path: path,
            options: MediaSource.Options(format: "mov"),
            cancellation: abandonment ?? Cancellation()
        )
        let writer = try ContainerWriter(
            muxer: Muxer(name: muxerName, file: plain),
            format: format,
            fragments: nil,
            parameterSets: ParameterSetCarriage(format, isStreamed: false),
            contents: contents,
            firstSample: firstSample
        )
        var copied = 0
        reading: while true {
            switch try demuxer.read() {
            case .finished: break reading
            case .failed(let status): try check(status, "av_read_frame", "the fragments cannot be read", given: path)
            case .packet(let packet):
                let index = Int(packet.pointee.stream_index)
                // Titles of chapters have a stream of their own, which the muxer makes again.
                guard let stream = demuxer.stream(index), index < streamCount else { continue }
                restoreDuration(of: packet, stream.pointee.time_base)
                try writer.copy(packet, timeBase: stream.pointee.time_base)
                copied += 1
            }
        }
        guard copied == video.count + packetCount else {
            throw MediaError(
                .malformedData,
                "the fragments do not hold everything that was written",
                given: "\(copied) samples",
                allowed: "\(video.count + packetCount) samples"
            )
        }
        try writer.finish(parameterSetsHaveChanged: video.parameterSetsHaveChanged)
    }

    /// Shortens the last packet of a track again: a fragment states the same duration for all of its packets.
    private func restoreDuration(of packet: UnsafeMutablePointer<AVPacket>, _ timeBase: AVRational) {
        let index = Int(packet.pointee.stream_index) - (streamCount - contents.tracks.count)
        guard contents.tracks.indices.contains(index),
            let last = lastPackets[ObjectIdentifier(contents.tracks[index])],
            last.time.ticks(in: timeBase, AV_ROUND_NEAR_INF) == packet.pointee.pts,
            let duration = last.duration.ticks(in: timeBase, AV_ROUND_NEAR_INF)
        else { return }
        packet.pointee.duration = duration
    }

    private var streamCount: Int { contents.tracks.count + (firstSample == nil ? 0 : 1) }
}

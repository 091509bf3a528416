// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What takes the coded video and the other tracks of an output: a file, or segments.
package protocol OutputSink: AnyObject {
    /// Whether it takes audio at all.
    var takesAudio: Bool { get }
    /// The path of the complete file until it is finished; `nil` if there is no single file.
    var temporaryPath: String? { get }
    /// The path at which a file was kept that could not get its name; `nil` if there is none.
    var keptPath: String? { get }

    /// States that there will be no video.
    func omitVideo() throws(MediaError)
    func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance
    func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance
    func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance
    /// Carries parameter sets in front of every key frame, if receivers need them there after a change of encoders.
    func prepareForSwitches()
    func write(_ sample: SampleBuffer) throws(MediaError)
    func write(_ packet: MediaPacket) throws(MediaError)
    func complete() throws(MediaError)
    func finish() throws(MediaError) -> MediaSink.Summary
    /// Completes an output that has failed with what is whole in it; `nil` if nothing is, or if it cannot get its name.
    func rescue() -> MediaSink.Summary?
    func abort()
}

extension OutputSink {
    package var keptPath: String? { nil }

    package func rescue() -> MediaSink.Summary? {
        abort()
        return nil
    }
}

extension MediaSink: OutputSink {
    package var takesAudio: Bool { format.takesAudio }
    package func prepareForSwitches() { repeatsParameterSets = true }
}

extension SegmentSink: OutputSink {
    package var takesAudio: Bool { true }
    package var temporaryPath: String? { nil }

    package func omitVideo() throws(MediaError) {
        throw MediaError(.unsupported, "segments need video", given: "no video input", allowed: "one video input")
    }

    package func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance {
        .refused(reason: "segments do not support chapters")
    }

    package func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
        let lost = metadata.keys.filter { !Self.ofContainer.contains($0) }.sorted()
        return lost.isEmpty ? .accepted : .refused(reason: "segments do not support \(lost.joined(separator: ", "))")
    }

    /// The metadata that describes the file of the input and not what is in it.
    static let ofContainer: Set = [
        "major_brand", "minor_version", "compatible_brands", "encoder", "creation_time",
    ]

    package func prepareForSwitches() { repeatsParameterSets = true }

    package func complete() throws(MediaError) {}
}

extension MediaError {
    /// The error with the path of the file that was kept although it has not got its name.
    package func naming(keptPath path: String?) -> MediaError {
        guard let path, !message.contains(path) else { return self }
        var error = self
        error.message += "; what was written is kept as \(path)"
        return error
    }
}

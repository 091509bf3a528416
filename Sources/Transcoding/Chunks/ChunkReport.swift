// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import VAToolbox

// What the report of an output says that was made of chunks.

extension EncoderDescription {
    /// Describes the encoder of chunks.
    init(_ encoder: ChunkRecord.Encoder, _ format: FormatDescription, reorderDepth: Int) {
        self.init(
            identity: encoder.identity,
            isInHelper: encoder.isInHelper,
            properties: EncoderProperties(
                name: encoder.name,
                profile: encoder.profile,
                level: encoder.level,
                reorderDepth: reorderDepth,
                maximumDelay: 0,
                pixelFormats: [],
                supportedProperties: [],
                formatDescription: format
            ),
            reason: encoder.reason,
            rejected: [],
            proof: .notWanted
        )
    }
}

extension DecodingReport {
    /// The decoding of chunks that are all of earlier runs.
    static let earlier = DecodingReport(
        name: MediaSource.decoderName,
        reason: "all chunks were finished by earlier runs"
    )
}

extension SessionStatistics {
    /// Adds the counters of the session of another chunk.
    mutating func add(_ other: SessionStatistics) {
        repeatedFrames += other.repeatedFrames
        copiedPictures += other.copiedPictures
        convertedByEncoder += other.convertedByEncoder
        convertedByCPU += other.convertedByCPU
        createdEncoders += other.createdEncoders
        failedEncoders += other.failedEncoders
        encoderSwitches += other.encoderSwitches
    }

    /// Returns the counters with the number of frames of the whole.
    func counting(_ frames: Int) -> SessionStatistics {
        var result = self
        (result.acceptedFrames, result.codedFrames) = (frames, frames)
        return result
    }
}

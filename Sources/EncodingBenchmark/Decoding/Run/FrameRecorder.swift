// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes
internal import Synchronization
internal import VAToolbox

/// Records the frames of a session, to compare them with those of another one.
final class FrameRecorder: Sendable {
    private let recorded = Mutex<[DecodedFrameRecord]>([])

    /// The frames so far, in the order in which they came.
    var frames: [DecodedFrameRecord] { recorded.withLock { $0 } }

    /// Records a frame. The samples of a picture on a device are copied to memory.
    ///
    /// - Throws: The error of reading the samples.
    func take(_ frame: DecodedFrame) throws(MediaError) {
        let (picture, format) = (frame.buffer, frame.buffer.format)
        var digest = Digest()
        digest.add("\(picture.width)x\(picture.height) \(format.chromaFormat.name) \(format.bitDepth)")
        try picture.planarSamples().withUnsafeBytes { digest.add($0) }
        let record = DecodedFrameRecord(
            presentationTime: frame.presentationTime,
            digest: digest.hash,
            isDamaged: frame.isDamaged
        )
        recorded.withLock { $0.append(record) }
    }
}

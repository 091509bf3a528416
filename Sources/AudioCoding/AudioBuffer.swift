// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Uncompressed audio with its time: the counterpart of `AVAudioPCMBuffer`. The samples are immutable and shared by
/// reference.
public struct AudioBuffer: Sendable {
    /// The format of the samples.
    public let format: AudioFormat
    /// The number of frames, samples per channel.
    public let frameCount: Int
    /// The time of the first frame; an invalid time means directly after the previous buffer.
    public var presentationTime: MediaTime
    /// Whether frames before this buffer are known to be missing, as after a lost packet.
    public var followsLoss = false

    /// The maximum number of frames of a buffer: six minutes at 48 kHz.
    public static let mostFrames = 1 << 24

    /// The planes, one after the other.
    private let samples: CodedData

    /// Makes a buffer whose samples are written by `fill`.
    ///
    /// - Parameters:
    ///   - format: The format.
    ///   - frameCount: The number of frames, at most ``mostFrames``; larger counts are reduced to it, and
    ///     negative ones count as zero.
    ///   - presentationTime: The time of the first frame.
    ///   - fill: Called for each plane with its index and its memory, which is zero, that is silence.
    public init(
        format: AudioFormat,
        frameCount: Int,
        presentationTime: MediaTime = .invalid,
        filledBy fill: (Int, UnsafeMutableRawBufferPointer) -> Void = { _, _ in }
    ) {
        self.format = format
        self.frameCount = min(max(frameCount, 0), Self.mostFrames)
        self.presentationTime = presentationTime
        let byteCount = self.frameCount * format.bytesPerPlaneFrame
        samples = CodedData(capacity: byteCount * format.planeCount) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            for index in 0..<format.planeCount {
                fill(
                    index,
                    UnsafeMutableRawBufferPointer(rebasing: memory[index * byteCount..<(index + 1) * byteCount])
                )
            }
            return byteCount * format.planeCount
        }
    }

    /// Makes a buffer from a copy of bytes.
    ///
    /// - Parameters:
    ///   - planes: The bytes of each plane, all of the same size, a multiple of ``AudioFormat/bytesPerPlaneFrame``.
    ///   - format: The format.
    ///   - presentationTime: The time of the first frame.
    /// - Throws: `invalidArgument` if the number or the sizes of the planes do not match the format.
    public init(
        planes: [[UInt8]],
        format: AudioFormat,
        presentationTime: MediaTime = .invalid
    ) throws(MediaError) {
        let size = planes.first?.count ?? 0
        guard planes.count == format.planeCount, planes.allSatisfy({ $0.count == size }),
            size % format.bytesPerPlaneFrame == 0, size / format.bytesPerPlaneFrame <= Self.mostFrames
        else {
            throw MediaError(
                .invalidArgument,
                "the bytes do not match the audio format",
                given: "planes of \(planes.map { "\($0.count)" }.joined(separator: ", ")) bytes",
                allowed:
                    "\(format.planeCount) of the same size, a multiple of \(format.bytesPerPlaneFrame) bytes, at most \(Self.mostFrames) frames"
            )
        }
        self.init(
            format: format,
            frameCount: size / format.bytesPerPlaneFrame,
            presentationTime: presentationTime
        ) { index, memory in memory.copyBytes(from: planes[index]) }
    }

    /// The duration.
    public var duration: MediaTime {
        MediaTime(value: Int64(frameCount), timescale: Int32(clamping: format.sampleRate))
    }

    /// Calls `body` with the samples of each plane; the pointers are valid only inside `body`.
    public func withUnsafePlanes<Result, Failure: Error>(
        _ body: ([UnsafeRawBufferPointer]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let byteCount = frameCount * format.bytesPerPlaneFrame
        return try samples.withUnsafeBytes { (bytes) throws(Failure) in
            try body(
                (0..<format.planeCount).map { index in
                    UnsafeRawBufferPointer(rebasing: bytes[index * byteCount..<(index + 1) * byteCount])
                }
            )
        }
    }
}

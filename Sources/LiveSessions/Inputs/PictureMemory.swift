// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// The memory in which an input is asked for its pictures: memory of a GPU (DMA-BUFs) while a GPU encodes them, and
/// memory that the CPU reads fast otherwise. One object for an input, shared by the thread that reads it and the session.
public final class PictureMemory: Sendable {
    private let usesDMABufs = Atomic(false)

    /// Makes a choice of memory for the CPU, until a session with a GPU runs.
    public init() {}

    /// The DRM format modifiers of the DMA-BUFs that are asked for; none for memory of the CPU.
    ///
    /// Only linear ones, which every GPU imports and the CPU can read: the GPU of the source may be another one than that
    /// of the encoder, and if a GPU fails, the CPU encodes the pictures that it has left.
    public var modifiers: [UInt64] { isForGPU ? [0] : [] }

    var isForGPU: Bool { usesDMABufs.load(ordering: .relaxed) }

    func setForGPU(_ isForGPU: Bool) { usesDMABufs.store(isForGPU, ordering: .relaxed) }
}

/// Decides for how long pictures in DMA-BUFs are wanted. A pure value.
struct DMABufTrial: Sendable, Hashable {
    /// The number of pictures in DMA-BUFs that the CPU may read: single ones, which a GPU did not accept, change nothing.
    static let tolerance = 8

    private var reads = 0
    private var total = 0

    /// Returns whether pictures in DMA-BUFs are still wanted after one more picture.
    ///
    /// - Parameters:
    ///   - isDMABuf: Whether the picture is in a DMA-BUF.
    ///   - isOnGPU: Whether the encoder is on a GPU.
    ///   - readByCPU: The number of pictures so far that the CPU has copied or converted.
    mutating func goesOn(isDMABuf: Bool, isOnGPU: Bool, readByCPU: Int) -> Bool {
        let new = readByCPU - total
        total = readByCPU
        guard isDMABuf else { return true }
        reads += new
        return isOnGPU && reads < Self.tolerance
    }
}

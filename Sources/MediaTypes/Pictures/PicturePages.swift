// SPDX-License-Identifier: GPL-2.0-or-later

/// Private memory of a pool: whole pages that nothing else lies in, and that come back with other pictures. A device can be
/// told of them once and then reads every picture where it lies.
package struct PicturePages: Sendable {
    /// The memory as an object, which is the same for all pictures in it. It is there as long as somebody refers to this.
    package let owner: any AnyObject & Sendable
    /// Where the planes lie in it. Each has room for whole macroblocks: 16 rows of luma.
    package let planes: [PlaneLayout]

    private let memory: PixelMemory

    init(_ memory: PixelMemory, _ layout: PackedLayout) {
        owner = memory
        planes = layout.planes
        self.memory = memory
    }

    /// All of the memory, beginning with a page.
    package var bytes: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: memory.base, count: memory.byteCount)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

/// Private memory of a pool: whole pages that contain nothing else and are reused for later pictures. A device can
/// register them once and then read every picture in place.
package struct PicturePages: Sendable {
    /// The object that owns the memory, the same for all pictures in it. The memory exists as long as there is a
    /// reference to it.
    package let owner: any AnyObject & Sendable
    /// The layout of the planes. Each plane has room for whole macroblocks: 16 luma rows.
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

// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// An area of a picture with even position and size.
struct CanvasArea {
    let x: Int
    let y: Int
    let width: Int
    let height: Int
}

/// A colour in 10-bit limited-range code values.
struct CanvasColor {
    let luma: Int
    let cb: Int
    let cr: Int

    /// Returns a colour without chroma.
    static func gray(_ luma: Int) -> CanvasColor { CanvasColor(luma: luma, cb: 512, cr: 512) }
    /// The brightest colour.
    static let white = gray(940)
}

/// A 4:2:0 picture for drawing, in 10-bit limited-range code values.
struct Canvas {
    let width: Int
    let height: Int
    private var luma: [UInt16]
    private var cb: [UInt16]
    private var cr: [UInt16]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        luma = Array(repeating: 64, count: width * height)
        cb = Array(repeating: 512, count: width * height / 4)
        cr = cb
    }

    /// Sets the luma of every sample of an area.
    ///
    /// - Parameter code: Returns the code value of a sample from its column and row in the area.
    mutating func setLuma(in area: CanvasArea, _ code: (_ x: Int, _ y: Int) -> Int) {
        for y in 0..<area.height {
            let start = (area.y + y) * width + area.x
            for x in 0..<area.width { luma[start + x] = UInt16(truncatingIfNeeded: code(x, y)) }
        }
    }

    /// Sets the chroma of every sample of an area.
    ///
    /// - Parameter codes: Returns Cb and Cr from the column and row in the area of the top left luma sample that shares
    ///   them.
    mutating func setChroma(in area: CanvasArea, _ codes: (_ x: Int, _ y: Int) -> (cb: Int, cr: Int)) {
        for y in 0..<area.height / 2 {
            let start = (area.y / 2 + y) * (width / 2) + area.x / 2
            for x in 0..<area.width / 2 {
                let codes = codes(2 * x, 2 * y)
                cb[start + x] = UInt16(truncatingIfNeeded: codes.cb)
                cr[start + x] = UInt16(truncatingIfNeeded: codes.cr)
            }
        }
    }

    /// Copies the picture to a buffer of its size, I420 or P010.
    func store(in buffer: PixelBuffer) throws(MediaError) {
        try buffer.withPlanes { planes in
            if buffer.format == .p010 {
                for row in 0..<height {
                    Self.words(planes[0], row)
                        .update(fromSamples: luma[row * width..<(row + 1) * width], step: 1)
                }
                for row in 0..<height / 2 {
                    let samples = row * width / 2..<(row + 1) * width / 2
                    Self.words(planes[1], row).update(fromSamples: cb[samples], step: 2)
                    (Self.words(planes[1], row) + 1).update(fromSamples: cr[samples], step: 2)
                }
            } else {
                for (plane, samples, columns) in [(0, luma, width), (1, cb, width / 2), (2, cr, width / 2)] {
                    for row in 0..<samples.count / columns {
                        let target = (planes[plane].baseAddress + row * planes[plane].bytesPerRow)
                            .assumingMemoryBound(to: UInt8.self)
                        for column in 0..<columns {
                            target[column] = UInt8(truncatingIfNeeded: samples[row * columns + column] >> 2)
                        }
                    }
                }
            }
        }
    }

    private static func words(_ plane: PixelPlane, _ row: Int) -> UnsafeMutablePointer<UInt16> {
        (plane.baseAddress + row * plane.bytesPerRow).assumingMemoryBound(to: UInt16.self)
    }
}

extension UnsafeMutablePointer<UInt16> {
    /// Stores code values in the upper ten bits of little-endian words.
    fileprivate func update(fromSamples samples: ArraySlice<UInt16>, step: Int) {
        var index = 0
        for sample in samples {
            self[index] = (sample << 6).littleEndian
            index += step
        }
    }
}

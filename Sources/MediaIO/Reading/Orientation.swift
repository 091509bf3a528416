// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import VideoDecoding

/// The rotation and mirroring that make a stored picture upright: the eight that keep the axes parallel.
public enum Orientation: String, Sendable, Hashable, CaseIterable {
    /// As stored.
    case upright
    /// Rotated by 90 degrees clockwise.
    case turnedRight = "90"
    /// Rotated by 180 degrees.
    case turnedAround = "180"
    /// Rotated by 90 degrees counterclockwise.
    case turnedLeft = "270"
    /// Mirrored horizontally: left and right exchanged.
    case mirrored
    /// Mirrored vertically: top and bottom exchanged.
    case flipped
    /// Mirrored along the diagonal from the upper left: rows and columns exchanged.
    case transposed
    /// Mirrored along the diagonal from the upper right.
    case antitransposed

    /// Whether width and height are exchanged.
    public var swapsAxes: Bool {
        switch self {
        case .upright, .turnedAround, .mirrored, .flipped: false
        case .turnedRight, .turnedLeft, .transposed, .antitransposed: true
        }
    }

    /// Makes the orientation nearest to a display matrix (`AV_PKT_DATA_DISPLAYMATRIX`, ISO/IEC 14496-12 8.3.2): nine
    /// 16.16 numbers in row order, which map a point (x, y), with y pointing down, to (x * m0 + y * m3, x * m1 + y *
    /// m4).
    ///
    /// Angles are rounded to the nearest multiple of 90 degrees; a matrix without rotation part is upright.
    init(displayMatrix matrix: [Int32]) {
        guard matrix.count == 9 else {
            self = .upright
            return
        }
        let (xToX, xToY, yToX, yToY) = (matrix[0], matrix[1], matrix[3], matrix[4])
        let straight = UInt64(xToX.magnitude) + UInt64(yToY.magnitude)
        let crossed = UInt64(xToY.magnitude) + UInt64(yToX.magnitude)
        switch straight >= crossed ? (false, xToX < 0, yToY < 0) : (true, xToY < 0, yToX < 0) {
        case (false, false, false): self = .upright
        case (false, true, true): self = .turnedAround
        case (false, true, false): self = .mirrored
        case (false, false, true): self = .flipped
        case (true, false, true): self = .turnedRight
        case (true, true, false): self = .turnedLeft
        case (true, false, false): self = .transposed
        case (true, true, true): self = .antitransposed
        }
    }

    /// Makes the orientation nearest to a display matrix in memory.
    init(displayMatrix bytes: [UInt8]) {
        self.init(displayMatrix: bytes.withUnsafeBytes { PictureColor.displayMatrix($0) })
    }

    /// The libavfilter filters for this orientation. `vflip` by itself only reverses the row order of the same memory.
    var filters: [FilterGraph.Step] {
        switch self {
        case .upright: []
        case .turnedRight: [.init("transpose", "dir=clock")]
        case .turnedAround: [.init("vflip"), .init("hflip")]
        case .turnedLeft: [.init("transpose", "dir=cclock")]
        case .mirrored: [.init("hflip")]
        case .flipped: [.init("vflip"), .init("copy")]
        case .transposed: [.init("transpose", "dir=cclock_flip")]
        case .antitransposed: [.init("transpose", "dir=clock_flip")]
        }
    }
}

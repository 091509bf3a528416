// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg

/// How a stored picture is turned and mirrored to be seen upright: the eight that leave the axes parallel.
public enum Orientation: String, Sendable, Hashable, CaseIterable {
    /// As stored.
    case upright
    /// Turned by 90 degrees clockwise.
    case turnedRight = "90"
    /// Turned by 180 degrees.
    case turnedAround = "180"
    /// Turned by 90 degrees counterclockwise.
    case turnedLeft = "270"
    /// Left and right exchanged.
    case mirrored
    /// Top and bottom exchanged.
    case flipped
    /// Rows and columns exchanged: mirrored along the diagonal from the upper left.
    case transposed
    /// Mirrored along the diagonal from the upper right.
    case antitransposed

    /// Whether width and height change places.
    public var swapsAxes: Bool {
        switch self {
        case .upright, .turnedAround, .mirrored, .flipped: false
        case .turnedRight, .turnedLeft, .transposed, .antitransposed: true
        }
    }

    /// The orientation nearest to a display matrix (`AV_PKT_DATA_DISPLAYMATRIX`, ISO/IEC 14496-12 8.3.2): nine 16.16
    /// numbers in rows, a point (x, y) with y downwards going to (x * m0 + y * m3, x * m1 + y * m4).
    ///
    /// Angles between multiples of 90 degrees go to the nearest; a matrix without rotation part is upright.
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

    /// The libavfilter filters that do it. `vflip` by itself only lets the rows run upwards in the same memory.
    var filters: [PictureFilter.Step] {
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

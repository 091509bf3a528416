// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

extension V4L2Camera {
    /// A camera, as ``list(in:)`` finds it.
    public struct Device: Sendable, Hashable {
        /// The path of its node, for example `/dev/video0`. It may be another one after the camera was plugged in
        /// again.
        public var path: String
        /// The name of the camera (`v4l2_capability.card`).
        public var name: String
        /// The name of the kernel driver, for example `uvcvideo`.
        public var driver: String
        /// Where the camera is connected (`bus_info`), for example `usb-0000:00:14.0-1`.
        public var bus: String
        /// What stays the same when the camera is plugged in again: the name of its link in `/dev/v4l/by-id` or else
        /// `/dev/v4l/by-path`; without both, ``bus``.
        public var id: String
        /// What the camera delivers, in the order of the driver.
        public var formats: [Format]
        /// What can be set, in the order of the driver.
        public var controls: [Control]
        /// Why nothing is known of the camera but its path, for example because the user may not open it; `nil` if it
        /// can be used.
        public var problem: MediaError?

        /// Describes a camera.
        public init(
            path: String,
            name: String,
            driver: String = "",
            bus: String = "",
            id: String = "",
            formats: [Format] = [],
            controls: [Control] = [],
            problem: MediaError? = nil
        ) {
            (self.path, self.name, self.driver, self.bus, self.id) = (path, name, driver, bus, id)
            (self.formats, self.controls, self.problem) = (formats, controls, problem)
        }
    }

    /// The code of a pixel format (`V4L2_PIX_FMT_*`): four characters.
    public struct FormatCode: Sendable, Hashable, CustomStringConvertible {
        /// The number, with the first character in the lowest byte.
        public let rawValue: UInt32

        /// Makes a code of its number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        init(_ characters: StaticString) {
            rawValue = characters.withUTF8Buffer { bytes in
                bytes.prefix(4).enumerated().reduce(0) { $0 | UInt32($1.element) << (8 * UInt32($1.offset)) }
            }
        }

        /// The characters, for example `YUYV`.
        public var description: String {
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (8 * UInt32($0))) & 0x7F }
            let text = String(decoding: bytes.filter { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
            return text.isEmpty ? "format \(rawValue)" : text
        }

        /// NV12 in one memory plane.
        public static let nv12 = FormatCode("NV12")
        /// NV12 in two memory planes (`V4L2_PIX_FMT_NV12M`).
        public static let nv12Planes = FormatCode("NM12")
        /// I420 in one memory plane (`V4L2_PIX_FMT_YUV420`).
        public static let i420 = FormatCode("YU12")
        /// I420 in three memory planes (`V4L2_PIX_FMT_YUV420M`).
        public static let i420Planes = FormatCode("YM12")
        /// YUY2 (`V4L2_PIX_FMT_YUYV`).
        public static let yuyv = FormatCode("YUYV")
        /// JPEG pictures, possibly without their Huffman tables.
        public static let mjpeg = FormatCode("MJPG")
        /// JPEG pictures.
        public static let jpeg = FormatCode("JPEG")
        /// H.264 in Annex B.
        public static let h264 = FormatCode("H264")
    }

    /// A format that a camera offers.
    public struct Format: Sendable, Hashable {
        /// The code.
        public var code: FormatCode
        /// The driver's name for it.
        public var name: String
        /// Its sizes.
        public var sizes: [Sizes]

        /// Describes a format.
        public init(code: FormatCode, name: String, sizes: [Sizes]) {
            (self.code, self.name, self.sizes) = (code, name, sizes)
        }
    }

    /// One size, or all between two.
    public struct Sizes: Sendable, Hashable {
        /// The least and the largest width in luma samples.
        public var width: ClosedRange<Int>
        /// The least and the largest height.
        public var height: ClosedRange<Int>
        /// The unit of widths from the least one on, at least 1.
        public var widthStep: Int
        /// The unit of heights from the least one on, at least 1.
        public var heightStep: Int
        /// The frame rates; of several sizes, those of the largest one.
        public var rates: Rates

        /// Describes sizes.
        public init(
            width: ClosedRange<Int>,
            height: ClosedRange<Int>,
            widthStep: Int = 1,
            heightStep: Int = 1,
            rates: Rates = .unknown
        ) {
            (self.width, self.height, self.rates) = (width, height, rates)
            (self.widthStep, self.heightStep) = (max(widthStep, 1), max(heightStep, 1))
        }

        /// Describes one size.
        public init(_ width: Int, _ height: Int, rates: Rates = .unknown) {
            self.init(width: width...width, height: height...height, rates: rates)
        }
    }

    /// Frame rates in frames per second.
    public enum Rates: Sendable, Hashable {
        /// These.
        case list([Rational])
        /// All from one to another one, possibly in steps that the driver rounds to.
        case range(least: Rational, highest: Rational)
        /// The driver does not say.
        case unknown
    }

    /// A control of a camera.
    public struct Control: Sendable, Hashable {
        /// What its values are.
        public enum Kind: String, Sendable, Hashable {
            /// A number.
            case integer
            /// 0 or 1.
            case boolean
            /// One of ``Control/items``.
            case menu
            /// Any value does the same, as to reset the camera's position.
            case button
            /// Bits.
            case bitmask
        }

        /// The number of the control (`V4L2_CID_*`).
        public var id: UInt32
        /// The driver's name, for example `White Balance Temperature, Auto`.
        public var name: String
        /// What its values are.
        public var kind: Kind
        /// The least and the largest value.
        public var range: ClosedRange<Int64>
        /// The unit of values from the least one on, at least 1.
        public var step: Int64
        /// The value after a reset.
        public var defaultValue: Int64
        /// The present value; `nil` if it cannot be read.
        public var value: Int64?
        /// The items of a menu.
        public var items: [Item]
        /// Whether it cannot be set.
        public var isReadOnly: Bool
        /// Whether it has an effect at present: another control, such as one for automatic exposure, may rule it out.
        public var isActive: Bool

        /// An item of a menu.
        public struct Item: Sendable, Hashable {
            /// The value.
            public var value: Int64
            /// The name.
            public var name: String

            /// Describes an item.
            public init(value: Int64, name: String) { (self.value, self.name) = (value, name) }
        }

        /// Describes a control.
        public init(
            id: UInt32,
            name: String,
            kind: Kind,
            range: ClosedRange<Int64>,
            step: Int64 = 1,
            defaultValue: Int64 = 0,
            value: Int64? = nil,
            items: [Item] = [],
            isReadOnly: Bool = false,
            isActive: Bool = true
        ) {
            (self.id, self.name, self.kind, self.range, self.step) = (id, name, kind, range, max(step, 1))
            (self.defaultValue, self.value, self.items) = (defaultValue, value, items)
            (self.isReadOnly, self.isActive) = (isReadOnly, isActive)
        }

        /// The name in lower case, with one underscore in the place of anything but letters and digits, for example
        /// `white_balance_temperature_auto`. Controls are found by this form of any name.
        public var key: String { Self.key(name) }

        static func key(_ name: String) -> String {
            name.lowercased().split { !($0.isLetter || $0.isNumber) }.joined(separator: "_")
        }
    }
}

extension V4L2Camera.Sizes: CustomStringConvertible {
    /// For example `640x480 at 15 and 30 fps`.
    public var description: String {
        let isOne = width.lowerBound == width.upperBound && height.lowerBound == height.upperBound
        let largest = "\(width.upperBound)x\(height.upperBound)"
        let text = isOne ? largest : "\(width.lowerBound)x\(height.lowerBound) to \(largest)"
        return rates == .unknown ? text : "\(text) at \(rates)"
    }
}

extension V4L2Camera.Rates: CustomStringConvertible {
    /// For example `15 and 30 fps`.
    public var description: String {
        switch self {
        case .list(let rates): Readable.list(rates.map(\.description)) + " fps"
        case .range(let least, let highest): "\(least) to \(highest) fps"
        case .unknown: "an unknown frame rate"
        }
    }
}

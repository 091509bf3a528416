// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

extension V4L2Camera {
    /// Which camera to use.
    public enum Selector: Sendable, Hashable, CustomStringConvertible {
        /// The one with the lowest number that can be opened and has a format of ``FormatPreference``.
        case first
        /// The one with this node.
        case path(String)
        /// The one with this ``Device/id``, wherever it is plugged in.
        case id(String)
        /// The first one with this ``Device/name``.
        case name(String)

        /// The selector for people.
        public var description: String {
            switch self {
            case .first: "the first camera"
            case .path(let path): path
            case .id(let id): "id \(id)"
            case .name(let name): "name \(name)"
            }
        }
    }

    /// The pixel format that is wanted.
    public enum FormatPreference: String, Sendable, Hashable, CaseIterable {
        /// The one that costs least of those that reach the frame rate: NV12, I420, YUYV, then MJPEG.
        case auto
        /// NV12, in one or two memory planes.
        case nv12
        /// I420, in one or three memory planes.
        case i420
        /// YUYV.
        case yuyv
        /// MJPEG, which is decoded on the CPU.
        case mjpeg
        /// H.264, for ``V4L2CodedCamera``.
        case h264
    }

    /// A value for a control.
    public struct Setting: Sendable, Hashable {
        /// A number, or the name of a menu's item.
        public enum Value: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral,
            ExpressibleByStringLiteral, ExpressibleByBooleanLiteral
        {
            /// A number; 0 or 1 for a switch.
            case number(Int64)
            /// The name of an item, or a number in decimal.
            case text(String)

            /// Makes a number.
            public init(integerLiteral value: Int64) { self = .number(value) }
            /// Makes the name of an item.
            public init(stringLiteral value: String) { self = .text(value) }
            /// Makes 1 for true.
            public init(booleanLiteral value: Bool) { self = .number(value ? 1 : 0) }

            /// The number or the name.
            public var description: String {
                switch self {
                case .number(let number): "\(number)"
                case .text(let text): text
                }
            }
        }

        /// The name of the control, in any form that has the same ``Control/key``.
        public var name: String
        /// The value.
        public var value: Value

        /// Makes a setting.
        public init(_ name: String, _ value: Value) { (self.name, self.value) = (name, value) }
    }

    /// What is wanted of a camera.
    public struct Request: Sendable, Hashable {
        /// A size in luma samples.
        public struct Size: Sendable, Hashable, CustomStringConvertible {
            /// The width.
            public var width: Int
            /// The height.
            public var height: Int

            /// Makes a size.
            public init(_ width: Int, _ height: Int) { (self.width, self.height) = (width, height) }

            /// For example `1280x720`.
            public var description: String { "\(width)x\(height)" }
        }

        /// The camera.
        public var camera: Selector
        /// The size. The camera gets the nearest one that is neither narrower nor lower. `nil` for 1280x720, or the
        /// largest size if the camera has only smaller ones.
        public var size: Size?
        /// The least frame rate in frames per second; 1 % less will do, as 29.97 for 30. `nil` for 30, or the highest
        /// that the size has.
        public var frameRate: Rational?
        /// The pixel format.
        public var format: FormatPreference
        /// Values for controls, which are set in this order before the first picture.
        public var settings: [Setting]

        /// Makes a request.
        public init(
            camera: Selector = .first,
            size: Size? = nil,
            frameRate: Rational? = nil,
            format: FormatPreference = .auto,
            settings: [Setting] = []
        ) {
            (self.camera, self.size, self.frameRate) = (camera, size, frameRate)
            (self.format, self.settings) = (format, settings)
        }
    }

    /// How a camera is used: what ``mode(for:of:)`` chooses.
    public struct Mode: Sendable, Hashable {
        /// The pixel format.
        public var code: FormatCode
        /// The width in luma samples.
        public var width: Int
        /// The height in luma samples.
        public var height: Int
        /// The frame rate; `nil` if the camera does not say which it has.
        public var frameRate: Rational?
        /// Why it was chosen, for people.
        public var reason: String

        /// Makes a mode.
        public init(code: FormatCode, width: Int, height: Int, frameRate: Rational?, reason: String = "") {
            (self.code, self.width, self.height) = (code, width, height)
            (self.frameRate, self.reason) = (frameRate, reason)
        }
    }
}

extension V4L2Camera.FormatPreference {
    /// The codes, the one that costs least first.
    var codes: [V4L2Camera.FormatCode] {
        switch self {
        case .auto: [.nv12, .nv12Planes, .i420, .i420Planes, .yuyv, .mjpeg, .jpeg]
        case .nv12: [.nv12, .nv12Planes]
        case .i420: [.i420, .i420Planes]
        case .yuyv: [.yuyv]
        case .mjpeg: [.mjpeg, .jpeg]
        case .h264: [.h264]
        }
    }
}

extension V4L2Camera.Format {
    /// Whether pictures of the format can be read.
    var isKnown: Bool { V4L2Camera.FormatPreference.allCases.contains { $0.codes.contains(code) } }
}

// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

extension X11Screen {
    /// What to capture, and how.
    public struct Request: Sendable, Hashable {
        /// What to capture.
        public enum Area: Sendable, Hashable {
            /// The whole screen: all monitors of the display.
            case screen
            /// A monitor by its RandR name, such as `DP-1`.
            case monitor(String)
            /// A part of the screen, in pixels from its upper left corner. It must lie in the screen.
            case region(x: Int, y: Int, width: Int, height: Int)
            /// A window by its number, as `xwininfo` shows it, without the frame of the window manager. The window is
            /// captured wherever it is, also where others cover it.
            case window(UInt32)
            /// The window with a title; if there is none, the only one whose title contains it in any case.
            case windowTitled(String)
        }

        /// The name of the display, as `DISPLAY` has it; `nil` for the display of `DISPLAY`.
        public var display: String?
        /// What to capture.
        public var area: Area
        /// Whether the cursor is drawn into the pictures.
        public var drawsCursor: Bool
        /// The number of pictures per second, 1...240.
        public var frameRate: Rational

        /// Makes a request, by default for the whole screen with the cursor, 30 times a second.
        public init(
            display: String? = nil,
            area: Area = .screen,
            drawsCursor: Bool = true,
            frameRate: Rational = 30
        ) {
            self.display = display
            self.area = area
            self.drawsCursor = drawsCursor
            self.frameRate = frameRate
        }

        func validate() throws(MediaError) {
            let (numerator, denominator) = (Int64(frameRate.numerator), Int64(frameRate.denominator))
            guard frameRate.isPositive, numerator >= denominator, numerator <= 240 * denominator else {
                throw MediaError(
                    .invalidArgument,
                    "the frame rate of a screen is out of range",
                    given: "\(frameRate)",
                    allowed: "1...240"
                )
            }
            guard case .region(_, _, let width, let height) = area, width < 1 || height < 1 else { return }
            throw MediaError(
                .invalidArgument,
                "the region of a screen is empty",
                given: "\(width)x\(height)",
                allowed: "at least 1x1"
            )
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

extension PipeWireStream {
    /// Which pictures a stream captures, and how.
    public struct Request: Sendable, Hashable {
        /// The node that is captured.
        public enum Target: Sendable, Hashable {
            /// The camera that the session manager prefers.
            case preferred
            /// The node of this number.
            case node(UInt32)
            /// The node of this name (``PipeWireNode/name``).
            case named(String)
        }

        /// The node.
        public var target: Target
        /// The size of the pictures, for cameras; the source chooses it if `nil`.
        public var size: Size?
        /// The highest frame rate in frames per second, 1...1000; the source chooses it if `nil`.
        public var frameRate: Rational?
        /// The DRM format modifiers with which DMA-BUFs can be used, the preferred one first; 0 is linear. Without any,
        /// the pictures are in shared memory. A source that has no DMA-BUFs with one of these also uses shared memory.
        ///
        /// Only an encoder on a GPU gains from DMA-BUFs. The CPU reads linear ones, often slowly, and no others.
        public var modifiers: [UInt64]
        /// The socket of the server: a name in `XDG_RUNTIME_DIR` or a path; the default one (`PIPEWIRE_REMOTE` or
        /// `pipewire-0`) if `nil`. It has no meaning where the desktop portal gives the connection.
        public var remote: String?

        /// The longest time until the source has agreed on a format, in milliseconds.
        package var startLimit = PipeWireConnection.answerLimit

        /// The size of a picture.
        public struct Size: Sendable, Hashable {
            /// The width in luma samples.
            public var width: Int
            /// The height in luma samples.
            public var height: Int

            /// Makes a size.
            public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
        }

        /// Describes a capture.
        public init(
            _ target: Target = .preferred,
            size: Size? = nil,
            frameRate: Rational? = nil,
            modifiers: [UInt64] = [],
            remote: String? = nil
        ) {
            (self.target, self.size, self.frameRate) = (target, size, frameRate)
            (self.modifiers, self.remote) = (modifiers, remote)
        }

        /// The number of ``modifiers`` that one offer has room for.
        static let mostModifiers = 64

        func validate() throws(MediaError) {
            let sizes = 1...PixelBuffer.maximumDimension
            if let size, !sizes.contains(size.width) || !sizes.contains(size.height) {
                throw MediaError(
                    .invalidArgument,
                    "the size of pictures is out of range",
                    given: "\(size.width)x\(size.height)",
                    allowed: "1x1 to \(sizes.upperBound)x\(sizes.upperBound)"
                )
            }
            if let frameRate, !frameRate.isPositive || !(1.0...1000.0).contains(frameRate.doubleValue) {
                throw MediaError(
                    .invalidArgument,
                    "the frame rate is out of range",
                    given: "\(frameRate)",
                    allowed: "1...1000 frames per second"
                )
            }
            guard modifiers.count <= Self.mostModifiers else {
                throw MediaError(
                    .invalidArgument,
                    "too many format modifiers",
                    given: "\(modifiers.count)",
                    allowed: "at most \(Self.mostModifiers)"
                )
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// A libva call that did not return success.
public struct VAError: Error, Sendable, Hashable {
    /// The name of the C function, such as `vaInitialize`.
    public let call: String
    /// The status that it returned.
    public let status: Status
    /// libva's description of the status (`vaErrorStr`).
    public let text: String

    /// A `VAStatus` other than success.
    public struct Status: RawRepresentable, Sendable, Hashable {
        /// The value in `va.h`, such as 0x14.
        public let rawValue: Int32

        /// Wraps a value from `va.h`.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// The available space is not sufficient (`VA_STATUS_ERROR_NOT_ENOUGH_BUFFER`).
        public static let notEnoughBuffer = Self(rawValue: VA_STATUS_ERROR_NOT_ENOUGH_BUFFER)

        /// Whether the driver never supports the request: it lacks the profile, entrypoint, format, size or attribute.
        public var isLackOfSupport: Bool {
            [
                VA_STATUS_ERROR_ATTR_NOT_SUPPORTED, VA_STATUS_ERROR_UNSUPPORTED_PROFILE,
                VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT, VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT,
                VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED,
            ].contains(rawValue)
        }

        /// Whether the driver reports that other users fully occupy the device.
        public var isBusy: Bool { rawValue == VA_STATUS_ERROR_HW_BUSY }
    }
}

extension VAError {
    /// Whether the driver had no resources left for a context. Drivers return this if a device accepts no more
    /// encoders.
    public var isContextWithoutRoom: Bool {
        call == "vaCreateContext" && status.rawValue == VA_STATUS_ERROR_ALLOCATION_FAILED
    }
}

extension VAError.Status: CustomStringConvertible {
    /// The name in `va.h`, such as `VA_STATUS_ERROR_UNIMPLEMENTED`; the number if libva has no name for it.
    public var description: String {
        let name = String(cString: vaStatusStr(rawValue))
        return name.hasPrefix("VA_STATUS_") ? name : "0x" + String(UInt32(bitPattern: rawValue), radix: 16)
    }
}

extension VAError: CustomStringConvertible {
    /// A description such as `vaInitialize: unknown libva error (VA_STATUS_ERROR_UNKNOWN)`.
    public var description: String { "\(call): \(text) (\(status))" }
}

/// Returns if the status is success, otherwise throws it. Every status that libva returns is checked here.
func check(_ call: StaticString, _ status: VAStatus) throws(VAError) {
    guard status != VA_STATUS_SUCCESS else { return }
    throw VAError(
        call: "\(call)",
        status: VAError.Status(rawValue: status),
        text: String(cString: vaErrorStr(status))
    )
}

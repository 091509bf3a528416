// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA

/// A libva call that did not return success.
public struct VAError: Error, Sendable, Hashable {
    /// The C function's name, such as `vaInitialize`.
    public let call: String
    /// What it returned.
    public let status: Status
    /// libva's description of the status (`vaErrorStr`).
    public let text: String

    /// A `VAStatus` other than success.
    public struct Status: RawRepresentable, Sendable, Hashable {
        /// The number of `va.h`, such as 0x14.
        public let rawValue: Int32

        /// Wraps a number of `va.h`.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// There is no room for what was asked for (`VA_STATUS_ERROR_NOT_ENOUGH_BUFFER`).
        public static let notEnoughBuffer = Self(rawValue: VA_STATUS_ERROR_NOT_ENOUGH_BUFFER)

        /// Whether the driver says that it never does what was asked for: a profile, an entrypoint, a format, a size or
        /// an attribute that it has not.
        public var isLackOfSupport: Bool {
            [
                VA_STATUS_ERROR_ATTR_NOT_SUPPORTED, VA_STATUS_ERROR_UNSUPPORTED_PROFILE,
                VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT, VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT,
                VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED,
            ].contains(rawValue)
        }

        /// Whether the driver says that the device is used by others as much as it can be.
        public var isBusy: Bool { rawValue == VA_STATUS_ERROR_HW_BUSY }
    }
}

extension VAError {
    /// Whether the driver had nothing left to make a context of, which is how drivers say that a device takes no more
    /// encoders.
    public var isContextWithoutRoom: Bool {
        call == "vaCreateContext" && status.rawValue == VA_STATUS_ERROR_ALLOCATION_FAILED
    }
}

extension VAError.Status: CustomStringConvertible {
    /// The name in `va.h`, such as `VA_STATUS_ERROR_UNIMPLEMENTED`; the number where libva knows no name.
    public var description: String {
        let name = String(cString: vaStatusStr(rawValue))
        return name.hasPrefix("VA_STATUS_") ? name : "0x" + String(UInt32(bitPattern: rawValue), radix: 16)
    }
}

extension VAError: CustomStringConvertible {
    /// Such as `vaInitialize: unknown libva error (VA_STATUS_ERROR_UNKNOWN)`.
    public var description: String { "\(call): \(text) (\(status))" }
}

/// Passes success and throws anything else. Every status that libva returns goes through here.
func check(_ call: StaticString, _ status: VAStatus) throws(VAError) {
    guard status != VA_STATUS_SUCCESS else { return }
    throw VAError(
        call: "\(call)",
        status: VAError.Status(rawValue: status),
        text: String(cString: vaErrorStr(status))
    )
}

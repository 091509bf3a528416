// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
package import VAAPI

extension MediaError {
    /// Creates an error for a call that libva or the driver refused. An unsupported request during the creation of an
    /// encoder is `unsupported`, because a retry would not help; a driver without room for one more encoder is `busy`.
    package init(_ error: VAError, _ code: MediaError.Code) {
        let isLacking = code == .creationFailed && error.status.isLackOfSupport
        let isBusy = code == .creationFailed && (error.status.isBusy || error.isContextWithoutRoom)
        self.init(
            isLacking ? .unsupported : isBusy ? .busy : code,
            "\(error.text) (\(error.status))",
            call: error.call,
            status: Int(error.status.rawValue),
            isPermanent: isLacking
        )
    }

    /// Creates an error for a display that could not be opened. A driver that does not start is considered permanently
    /// unusable.
    package init(_ error: DisplayError) {
        switch error.reason {
        case .failed(let failure):
            self.init(
                .unavailable,
                (["\(failure.text) (\(failure.status))"] + error.errorLines).joined(separator: "; "),
                call: failure.call,
                status: Int(failure.status.rawValue),
                cause: error.startFailure.map(Cause.init)
            )
        case .refused:
            let refusal = error.nodeRefusal
            self.init(
                .unavailable,
                refusal?.explanation ?? "\(error)",
                cause: refusal.map { Cause(rawValue: $0.cause) },
                remedies: refusal?.remedies ?? []
            )
        case .notADRMDevice:
            self.init(.unavailable, "\(error.path) does not belong to a kernel graphics driver", cause: .notAGPU)
        }
    }
}

extension MediaError.Cause {
    /// Returns the cause for a driver that does not start, before anything about its GPU is known.
    package init(_ failure: DriverStartFailure) {
        self =
            switch failure {
            case .noName: .kernelDriverSilent
            case .noFile: .driverFileMissing
            case .unloadable: .driverUnloadable
            case .otherVersion: .driverVersionMismatch
            case .refused: .driverInitializationFailed
            }
    }
}

extension DriverStartFailure {
    /// Returns how the start of a driver failed, from the cause of an error; `nil` for another cause.
    package init?(_ cause: MediaError.Cause) {
        switch cause {
        case .kernelDriverSilent: self = .noName
        case .driverFileMissing: self = .noFile
        case .driverUnloadable: self = .unloadable
        case .driverVersionMismatch: self = .otherVersion
        case .driverInitializationFailed: self = .refused
        default: return nil
        }
    }
}

/// Calls libva and converts its errors to errors of this package.
package func calling<Result: ~Copyable>(
    _ code: MediaError.Code,
    _ body: () throws(VAError) -> Result
) throws(MediaError) -> Result {
    do throws(VAError) { return try body() } catch { throw MediaError(error, code) }
}

// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
package import VAAPI

extension MediaError {
    /// A call that libva or the driver refused. What a driver does not support when an encoder is made is `unsupported`,
    /// which trying again does not change; a driver that has no room for one more encoder is `busy`.
    init(_ error: VAError, _ code: MediaError.Code) {
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

    /// A display that could not be opened. A driver that does not start is taken for one that never will.
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
            self.init(.unavailable, "\(error.path) does not belong to a graphics driver of the kernel", cause: .notAGPU)
        }
    }
}

extension MediaError.Cause {
    /// The cause by which a driver that does not start is known, before anything of its GPU is.
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
    /// How the start of a driver failed, for which an error has that cause; `nil` for another cause.
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

/// Calls libva, and passes its errors on as those of this package.
func calling<Result: ~Copyable>(
    _ code: MediaError.Code,
    _ body: () throws(VAError) -> Result
) throws(MediaError) -> Result {
    do throws(VAError) { return try body() } catch { throw MediaError(error, code) }
}

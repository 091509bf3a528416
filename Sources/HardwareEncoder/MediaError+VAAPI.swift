// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import VAAPI

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
    init(_ error: DisplayError) {
        switch error.reason {
        case .failed(let failure):
            self.init(.unavailable, "\(error)", call: failure.call, status: Int(failure.status.rawValue))
        case .refused, .notADRMDevice: self.init(.unavailable, "\(error)")
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

// SPDX-License-Identifier: GPL-2.0-or-later

package import Logging
package import MediaTypes
package import VAAPI

extension Display {
    /// Opens a device, and passes the messages of libva and the driver to a logger.
    ///
    /// - Throws: `unavailable` if the device or its driver cannot be used.
    package init(path: String, logger: Logger) throws(MediaError) {
        let use = DeviceUse()
        do throws(DisplayError) {
            self = try Display(
                path: path,
                onStage: { stage in if case .closing = stage { use.end() } },
                onMessage: { message in
                    switch message.severity {
                    case .error: logger.error("\(message.text)")
                    case .info: logger.debug("\(message.text)")
                    }
                }
            )
        } catch {
            throw MediaError(error)
        }
        use.begin(descriptor)
    }

    /// Opens a device as ``init(path:logger:)``, or shares the display of a device that is open.
    ///
    /// - Parameter displays: The displays to share; `nil` to open one that nobody else uses.
    package init(path: String, sharing displays: SharedDisplays?, logger: Logger) throws(MediaError) {
        guard let displays else {
            self = try Display(path: path, logger: logger)
            return
        }
        self = try displays.display(path: path) { () throws(MediaError) in try Display(path: path, logger: logger) }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Explains the errors of Video4Linux.
enum CameraFailure {
    /// Returns the error of a request.
    ///
    /// - Parameters:
    ///   - status: Minus the `errno` of the request.
    ///   - call: The request, for example `VIDIOC_S_FMT`.
    ///   - message: What failed, if `errno` does not tell more.
    ///   - code: The code of an error that the driver blames on the request (`EINVAL`).
    static func error(
        _ status: Int32,
        _ call: String,
        _ message: String,
        path: String,
        code: MediaError.Code = .inputOutput
    ) -> MediaError {
        func error(
            _ code: MediaError.Code,
            _ message: String,
            cause: MediaError.Cause? = nil,
            remedies: [String] = []
        ) -> MediaError {
            MediaError(
                code,
                message,
                given: path,
                call: call,
                status: Int(-status),
                cause: cause,
                remedies: remedies
            )
        }
        switch -status {
        case ENODEV, ENXIO, ENOENT, ENOTDIR:
            return error(
                .unavailable,
                call == "open" ? "there is no camera at this path" : "the camera is gone",
                cause: .unknownDevice,
                remedies: ["Plug the camera in, and wait for it", "See what is there: ls -l \(path) /dev/v4l/by-id"]
            )
        case EACCES, EPERM:
            return error(
                .unavailable,
                "the user may not open the camera",
                cause: MediaError.Cause(rawValue: "permission-denied"),
                remedies: [
                    "Add the user to the group video, then log in again: sudo usermod -aG video $USER",
                    "In a container, pass the device and its group: --device \(path) --group-add video",
                ]
            )
        case EBUSY:
            return error(
                .busy,
                "another program uses the camera",
                cause: .deviceBusy,
                remedies: ["Find the program and end it: fuser -v \(path)"]
            )
        case ENOSPC:
            return error(
                .busy,
                "the bus has no bandwidth left for the camera",
                cause: .deviceBusy,
                remedies: [
                    "Use MJPEG, a smaller size or a lower frame rate",
                    "Plug the camera into a port of another USB controller",
                ]
            )
        case ENOMEM, EMFILE, ENFILE: return error(.outOfMemory, "no memory or descriptor for a camera")
        case EINVAL, ERANGE, ENOTTY: return error(code, message)
        default: return error(.inputOutput, message)
        }
    }
}

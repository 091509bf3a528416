// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaTypes

/// A camera or a capture card, through Video4Linux2.
///
/// Uncompressed pictures are the driver's memory, without a copy: DMA-BUFs if the driver exports them, mapped memory
/// otherwise. They return to the driver when their buffers are released, on any thread and also after the camera was
/// closed or unplugged. MJPEG is decoded on the CPU; its pictures are of full range, as JPEG is. The camera is closed
/// with its last reference.
///
/// Pictures that are damaged, incomplete or marked by the driver are left out, and ``CapturedPicture/lostBefore``
/// counts them together with those that the driver had no buffer for.
public final class V4L2Camera: PictureDevice {
    /// The camera, as it was found.
    public let device: Device
    /// How it is used. The size and the frame rate are those that the driver has set.
    public let mode: Mode
    /// The controls of the camera, which can be used from any thread.
    public var controls: V4L2Controls { camera.controls }
    /// What the times of the pictures are; `nil` before the first picture.
    public var clock: Clock? { camera.timing.clock }

    /// The pictures that the camera delivers. The size changes if that of JPEG pictures does.
    public private(set) var stream: PictureStream

    private let camera: CameraStream
    /// The decoder; `nil` for uncompressed pictures.
    private let decoder: JPEGDecoder?

    /// Opens a camera and begins to capture.
    ///
    /// - Parameters:
    ///   - request: What is wanted of the camera.
    ///   - folder: The folder of the devices.
    ///   - logger: Receives how the camera is used, and what is skipped.
    ///   - stop: Ends all waits for pictures.
    /// - Throws: `unavailable` if there is no such camera, or if the user may not open it; `busy` if another program
    ///   captures from it; `unsupported` if it has no such mode, with what it offers; `invalidArgument` for a size, a
    ///   frame rate or a setting that is out of range; `invalidState` for a setting that another one rules out;
    ///   `outOfMemory`; `inputOutput` for other failures of the driver.
    public init(
        _ request: Request = Request(),
        in folder: String = "/dev",
        logger: Logger? = nil,
        stop: StopSignal
    ) throws(MediaError) {
        guard request.format != .h264 else {
            throw MediaError(
                .invalidArgument,
                "H.264 of a camera is not decoded",
                given: request.format.rawValue,
                allowed: "another format here, or V4L2CodedCamera"
            )
        }
        camera = try CameraStream(request, in: folder, logger: logger, stop: stop)
        decoder = camera.picture.layout == nil ? try JPEGDecoder(logger: logger) : nil
        (device, mode, stream) = (camera.device, camera.mode, camera.stream)
    }

    /// Returns the cameras, by the numbers of their nodes. Nodes for anything but pictures, such as metadata, are left
    /// out.
    ///
    /// - Parameter folder: The folder of the devices.
    /// - Throws: `inputOutput` if the folder cannot be read. A camera that cannot be opened is listed with its
    ///   ``Device/problem``.
    public static func list(in folder: String = "/dev") throws(MediaError) -> [Device] {
        try CameraSurvey(folder: folder).devices()
    }

    /// Waits until a camera is there and can be opened, for example after it was unplugged.
    ///
    /// - Parameters:
    ///   - selector: The camera. Its ``Device/id`` is best, because its path may change.
    ///   - folder: The folder of the devices.
    ///   - stop: Ends the wait.
    /// - Returns: The camera.
    /// - Throws: `cancelled` after the stop signal; `unsupported` if the path is no camera; `outOfMemory`.
    @discardableResult
    public static func wait(
        for selector: Selector,
        in folder: String = "/dev",
        stop: StopSignal
    ) throws(MediaError) -> Device {
        try CameraSurvey(folder: folder).wait(for: selector, stop: stop)
    }

    /// Waits for the next picture; see ``PictureDevice/read()``.
    ///
    /// - Throws: As ``PictureDevice/read()``; also `outOfMemory`.
    public func read() throws(MediaError) -> CapturedPicture {
        while true {
            let taken = try camera.take()
            let buffer: PixelBuffer
            if let layout = camera.picture.layout {
                buffer = try picture(taken, layout)
            } else if let decoded = try decoder?.decode(taken.bytes, camera.picture) {
                buffer = decoded
            } else {
                camera.skip(taken, "its JPEG data is damaged")
                continue
            }
            let (time, lostBefore) = camera.times(of: taken)
            (stream.width, stream.height) = (buffer.width, buffer.height)
            return CapturedPicture(buffer, time: time, lostBefore: lostBefore)
        }
    }

    private func picture(_ taken: TakenBuffer, _ layout: CameraLayout) throws(MediaError) -> PixelBuffer {
        let picture = camera.picture
        let description = PixelBuffer.Description(
            format: layout.format,
            width: picture.width,
            height: picture.height,
            color: picture.color,
            attachments: PixelAttachments(fieldOrder: picture.fieldOrder)
        )
        let memory = taken.contents.memory
        let planes = layout.planes(in: taken.contents.filled)
        if memory.allSatisfy({ $0.exported >= 0 }) {
            let exported = DMABuffer(fileDescriptors: memory.map(\.exported), planes: planes, modifier: 0)
            return try PixelBuffer(description, dmaBuf: exported) { withExtendedLifetime(taken) {} }
        }
        let mapped = planes.compactMap { plane in
            memory[plane.object].bytes.baseAddress.map {
                PixelPlane(baseAddress: $0 + plane.layout.offset, bytesPerRow: plane.layout.bytesPerRow)
            }
        }
        return try PixelBuffer(description, planes: mapped) { withExtendedLifetime(taken) {} }
    }
}

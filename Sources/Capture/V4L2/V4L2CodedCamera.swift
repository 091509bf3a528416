// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
public import Logging
public import MediaTypes

/// A camera that codes its pictures with H.264, through Video4Linux2. The access units are passed on as they come. The
/// camera is closed with its last reference.
public final class V4L2CodedCamera: CodedPictureDevice {
    /// The camera, as it was found.
    public let device: V4L2Camera.Device
    /// How it is used.
    public let mode: V4L2Camera.Mode
    /// The controls of the camera, which can be used from any thread.
    public var controls: V4L2Controls { camera.controls }
    /// What the times of the pictures are; `nil` before the first picture.
    public var clock: V4L2Camera.Clock? { camera.timing.clock }

    /// The pictures that the camera delivers.
    public let stream: PictureStream

    private let camera: CameraStream
    /// Parameter sets that came in a buffer of their own.
    private var parameterSets: [UInt8] = []
    private var lost = 0

    /// Opens a camera and begins to capture.
    ///
    /// - Parameters:
    ///   - request: What is wanted of the camera; its format must be `auto` or `h264`.
    ///   - folder: The folder of the devices.
    ///   - logger: Receives how the camera is used, and what is skipped.
    ///   - stop: Ends all waits for pictures.
    /// - Throws: As ``V4L2Camera/init(_:in:logger:stop:)``.
    public init(
        _ request: V4L2Camera.Request,
        in folder: String = "/dev",
        logger: Logger? = nil,
        stop: StopSignal
    ) throws(MediaError) {
        var request = request
        guard request.format == .auto || request.format == .h264 else {
            throw MediaError(
                .invalidArgument,
                "the format is not coded",
                given: request.format.rawValue,
                allowed: "auto or h264"
            )
        }
        request.format = .h264
        camera = try CameraStream(request, in: folder, logger: logger, stop: stop)
        (device, mode, stream) = (camera.device, camera.mode, camera.stream)
    }

    /// Waits for the next picture; see ``CodedPictureDevice/read()``.
    ///
    /// - Throws: As ``PictureDevice/read()``.
    public func read() throws(MediaError) -> CodedPicture {
        while true {
            let taken = try camera.take()
            let content = AccessUnitContent(taken.bytes)
            guard content != .damaged else {
                camera.skip(taken, "it is no byte stream of Annex B")
                continue
            }
            let (time, lostBefore) = camera.times(of: taken)
            lost += lostBefore
            if content == .parameterSets {
                // Those of one picture: a driver may repeat them without a picture.
                if parameterSets.count > Self.most { parameterSets = [] }
                parameterSets += taken.bytes
                continue
            }
            defer { (parameterSets, lost) = ([], 0) }
            let data = parameterSets.isEmpty ? CodedData(taken.bytes) : CodedData(parameterSets + Array(taken.bytes))
            return CodedPicture(data, time: time, isKeyFrame: content == .keyFrame, lostBefore: lost)
        }
    }

    /// The most bytes of parameter sets that are kept.
    private static let most = 1 << 16
}

/// What the bytes of a buffer are.
enum AccessUnitContent: Sendable, Hashable {
    /// No byte stream.
    case damaged
    /// No slice.
    case parameterSets
    /// An IDR picture.
    case keyFrame
    /// Another picture.
    case picture

    /// Examines a byte stream of H.264 (Annex B).
    init(_ bytes: UnsafeRawBufferPointer) {
        guard let units = try? NALUnitFraming.annexB.nalUnits(in: bytes), !units.isEmpty else {
            self = .damaged
            return
        }
        // H.264 table 7-1: 1 to 5 are slices, 5 those of IDR pictures.
        let types = units.map { bytes[$0.lowerBound] & 0x1F }
        self = types.contains(5) ? .keyFrame : types.contains { (1...4).contains($0) } ? .picture : .parameterSets
    }
}

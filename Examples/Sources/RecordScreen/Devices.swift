// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes

/// What the documentation shows of devices without a session; compiled, and not run.
///
/// - Parameter use: Uses a picture.
func readScreen(_ use: (CapturedPicture) -> Void) async throws {
    let reader = try DeviceReader<PictureStream, CapturedPicture>(name: "screen") { stop throws(MediaError) in
        let screen = try X11Screen(X11Screen.Request(frameRate: 60), stop: stop)
        return (screen.stream, { () throws(MediaError) in try screen.read() })
    }
    while let event = await reader.next() {
        switch event {
        case .opened(let stream): print("\(stream.width)x\(stream.height), \(stream.format)")
        case .item(let picture): use(picture)  // releasing its buffer returns the memory to the device
        case .gone(let error): print("waiting until the screen is back: \(error)")
        case .failed(let error): throw error
        }
    }
}

/// The same for a camera, on the thread of the caller.
func readCamera(_ count: Int, _ use: (CapturedPicture) -> Void) throws {
    let stop = try StopSignal()  // another thread can end the wait for a picture with `stop.stop()`
    var request = V4L2Camera.Request(camera: .path("/dev/video0"))
    request.size = .init(1280, 720)
    request.settings = [.init("brightness", 128)]
    let camera = try V4L2Camera(request, stop: stop)
    for _ in 0..<count { use(try camera.read()) }
}

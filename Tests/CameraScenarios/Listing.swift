// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes

/// The list of cameras.
enum Listing {
    static func all() throws {
        try Rig.plug(
            10,
            Settings.description + [
                "name Webcam", "driver uvcvideo", "bus usb-0000:00:14.0-1",
                "format MJPG 640x480@30,15 1280x720@60", "format YUYV 32x32-1920x1080/16x2@1-60",
            ]
        )
        try Rig.plug(2, ["name Board Camera", "node planar", "bus platform:csi", "format NM12 640x480@30"])
        try Rig.plug(1, ["name Infrared Camera", "format GREY 640x480@30"])
        try Rig.plug(3, ["name Webcam", "node metadata"])
        try Rig.plug(4, ["node output", "format YUYV 64x48@30"])
        try Rig.plug(5, ["denied", "format YUYV 64x48@30"])
        Rig.link("usb-Webcam_0001-video-index0", to: 10)
        let devices = try V4L2Camera.list(in: Rig.folder)
        try expect(devices.map(\.path) == [1, 2, 5, 10].map(Rig.path), "\(devices.map(\.path))")
        try expect(devices[2].problem?.cause?.rawValue == "permission-denied", "\(devices[2])")
        try expect(devices[1].id == "platform:csi" && devices[1].problem == nil, devices[1].id)
        let webcam = devices[3]
        let texts = [webcam.name, webcam.driver, webcam.bus, webcam.id]
        let expected = ["Webcam", "uvcvideo", "usb-0000:00:14.0-1", "usb-Webcam_0001-video-index0"]
        try expect(texts == expected, "\(texts)")
        let range = V4L2Camera.Sizes(
            width: 32...1920,
            height: 32...1080,
            widthStep: 16,
            heightStep: 2,
            rates: .range(least: 1, highest: 60)
        )
        let formats: [V4L2Camera.FormatCode: [V4L2Camera.Sizes]] = [
            .nv12: [.init(64, 48, rates: .list([30]))],
            .mjpeg: [.init(640, 480, rates: .list([30, 15])), .init(1280, 720, rates: .list([60]))],
            .yuyv: [range],
        ]
        for format in webcam.formats { try expect(format.sizes == formats[format.code], "\(format)") }
        try expect(webcam.formats.count == 3, "\(webcam.formats.count) formats")
        guard let exposure = webcam.controls.first(where: { $0.key == "auto_exposure" }) else {
            throw Wrong("no exposure")
        }
        let items = exposure.items.map { "\($0.value) \($0.name)" }
        try expect(items == ["1 Manual Mode", "3 Aperture Priority Mode"], "\(items)")
        try expect(exposure.kind == .menu && exposure.defaultValue == 3 && exposure.value == 3, "\(exposure)")
        let time = webcam.controls.first { $0.key == "exposure_time_absolute" }
        try expect(time?.range == 1...10000 && time?.isActive == false, "\(String(describing: time))")
        let temperature = webcam.controls.first { $0.key == "temperature" }
        try expect(temperature?.isReadOnly == true, "temperature")
        // The first one that can be opened; by name, by id and by path.
        let selectors: [(V4L2Camera.Selector, Int)] = [
            (.first, 2), (.name("Webcam"), 10), (.id("platform:csi"), 2), (.path(Rig.path(10)), 10),
            (.id("usb-Webcam_0001-video-index0"), 10),
        ]
        for (selector, number) in selectors {
            let found = try V4L2Camera.wait(for: selector, in: Rig.folder, stop: try StopSignal())
            try expect(found.path == Rig.path(number), "\(selector): \(found.path)")
        }
    }
}

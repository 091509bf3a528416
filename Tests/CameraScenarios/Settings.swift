// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes

/// Controls.
enum Settings {
    /// A webcam's controls: types 1 integer, 2 boolean, 3 menu, 4 button, 5 64-bit integer, 8 bits, 9 menu of integers.
    static let description = [
        "format NV12 64x48@30",
        "control 0x00980900 1 -64 64 4 0 0 Brightness",
        "control 0x0098090c 2 0 1 1 1 0 White Balance, Automatic",
        "control 0x00980918 3 0 2 1 2 0 Power Line Frequency",
        "item 0 Disabled",
        "item 2 60 Hz",
        "control 0x009a0901 3 0 3 1 3 0 Auto Exposure",
        "item 1 Manual Mode",
        "item 3 Aperture Priority Mode",
        "control 0x009a0902 1 1 10000 1 156 0 Exposure Time, Absolute",
        "control 0x009a0903 4 0 0 0 0 0x40 Pan, Reset",
        "control 0x009a0904 5 0 9000000000 1 5000000000 0 Pixel Rate",
        "control 0x009a0905 1 0 100 1 7 4 Temperature",
        "control 0x009a0906 8 0 6 0 2 0 Corners",
        "control 0x009a0907 9 0 1 1 0 0 Link",
        "item 0 100",
        "item 1 200",
        "rules-out 0x009a0901 3 0x009a0902",
    ]

    static func controls() throws {
        let settings: [V4L2Camera.Setting] = [
            .init("brightness", 12), .init("auto_exposure", "Manual Mode"), .init("Exposure Time, Absolute", 300),
        ]
        let camera = try Rig.camera(description, .init(size: .init(64, 48), settings: settings))
        func value(_ key: String) throws -> Int64? { try camera.controls.all().first { $0.key == key }?.value }
        for (key, number) in [("brightness", 12), ("auto_exposure", 1), ("exposure_time_absolute", 300)] {
            try expect(try value(key) == Int64(number), "\(key) is \(String(describing: try value(key)))")
        }
        let keys = try camera.controls.all().map(\.key)
        say(keys.joined(separator: " "))
        try expect(keys.count == 10, "\(keys)")

        func refused(_ code: MediaError.Code, _ name: String, _ value: V4L2Camera.Setting.Value) throws {
            say("\(try expectError(code) { try camera.controls.set(name, to: value) })")
        }
        try refused(.invalidArgument, "brightness", 65)
        try refused(.invalidArgument, "brightness", 13)
        try refused(.invalidArgument, "white_balance_automatic", 2)
        try refused(.invalidArgument, "power_line_frequency", 1)
        try refused(.invalidArgument, "power_line_frequency", "50 Hz")
        try refused(.invalidArgument, "corners", 8)
        try refused(.invalidArgument, "zoom", 1)
        try refused(.unsupported, "temperature", 1)
        try camera.controls.set("power-line-frequency", to: "60_hz")
        try camera.controls.set("link", to: "200")
        try camera.controls.set("pixel_rate", to: 8_999_999_999)
        try camera.controls.set("corners", to: 6)
        try camera.controls.set("pan_reset", to: 1)
        try camera.controls.set("white_balance_automatic", to: false)
        try camera.controls.reset("brightness")
        let expected: [(String, Int64?)] = [
            ("power_line_frequency", 2), ("link", 1), ("pixel_rate", 8_999_999_999), ("corners", 6),
            ("pan_reset", nil), ("white_balance_automatic", 0), ("brightness", 0), ("temperature", 7),
        ]
        for (key, number) in expected {
            try expect(try value(key) == number, "\(key) is \(String(describing: try value(key)))")
        }
        try camera.controls.set("auto_exposure", to: 3)
        try refused(.invalidState, "exposure_time_absolute", 100)
        try Drawing.check(camera.read().buffer, is: 0)
    }

    /// Another thread sets a control while pictures are read.
    static func whileReading() throws {
        let camera = try Rig.camera(description, .init(size: .init(64, 48)))
        let controls = camera.controls
        let failures = Handed(0)
        let setter = Thread {
            for value in 0..<200 where (try? controls.set("brightness", to: .number(Int64(value % 16) * 4))) == nil {
                failures.value += 1
            }
        }
        for number in 0..<100 { try Drawing.check(camera.read().buffer, is: number) }
        setter.join()
        try expect(failures.value == 0, "\(failures.value) were not set")
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Glibc
import MediaTypes

/// Captures from fake cameras and says in lines what came of it. The tests run it under libfake_camera.so, which has to
/// be loaded before the program; `FAKE_CAMERAS` names the folder of the cameras.
///
///     CameraScenarios SCENARIO [ARGUMENT...]
@main enum Scenarios {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first, let scenario = all[name] else {
            say("no such scenario; there are: \(all.keys.sorted().joined(separator: " "))")
            exit(2)
        }
        // A reader that waits for ever ends the process.
        alarm(300)
        do {
            // What the first use of the libraries opens stays open.
            _ = try? V4L2Camera.list(in: Rig.folder)
            let before = Rig.resources()
            try scenario(Array(arguments.dropFirst()))
            try expect(Rig.settles(at: before), "left over: \(Rig.resources()), before: \(before)")
        } catch {
            say("error \(error)")
            exit(1)
        }
        say("done")
    }

    private static let all: [String: @Sendable ([String]) throws -> Void] = [
        "busy": { _ in try Refusals.busy() },
        "clocks": { _ in try Streams.clocks() },
        "closed-with-pictures": { _ in try Holding.closedWithPictures() },
        "coded": { try Coded.h264($0) },
        "controls": { _ in try Settings.controls() },
        "controls-while-reading": { _ in try Settings.whileReading() },
        "damage": { _ in try Streams.damage() },
        "fields": { _ in try Streams.fields() },
        "formats": { _ in try Streams.formats() },
        "held": { _ in try Holding.held() },
        "jpeg": { try Coded.jpeg($0) },
        "jpeg-cut": { try Coded.jpegCut($0) },
        "jpeg-damage": { try Coded.jpegDamage($0) },
        "jpeg-holes": { try Coded.jpegHoles($0) },
        "list": { _ in try Listing.all() },
        "modes": { _ in try Streams.modes() },
        "no-pictures": { _ in try Refusals.noPictures() },
        "refusals": { _ in try Refusals.others() },
        "replug": { _ in try Plugging.replug() },
        "stop": { _ in try Streams.stop() },
        "threads": { _ in try Holding.threads() },
        "unplug": { _ in try Plugging.unplug() },
        "unplug-while-held": { _ in try Plugging.unplugWhileHeld() },
    ]
}

/// Says a line at once.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// What a scenario found wrong.
struct Wrong: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

func expect(_ condition: Bool, _ what: @autoclosure () throws -> String) throws {
    if !condition { throw Wrong(try what()) }
}

/// Runs what has to fail with a code, and returns the error.
@discardableResult
func expectError(_ code: MediaError.Code, _ body: () throws -> Void) throws -> MediaError {
    do {
        try body()
    } catch let error as MediaError {
        try expect(error.code == code, "expected \(code), got \(error.code): \(error)")
        return error
    }
    throw Wrong("expected \(code), got no error")
}

// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport
import Testing

/// Scenarios on fake cameras; each one checks by itself what it reads, and that it leaves no descriptor or mapping
/// behind.
@Suite(.blocks) struct CameraScenarioTests {
    @Test(arguments: [
        "clocks", "closed-with-pictures", "controls", "controls-while-reading", "damage", "fields", "formats", "held",
        "list",
        "modes", "no-pictures", "replug", "stop", "threads", "unplug", "unplug-while-held",
    ])
    func aScenarioComesToItsEnd(name: String) throws { try CameraRig.run(name).expectDone() }

    @Test func aCameraInUseIsBusy() throws {
        let outcome = try CameraRig.run("busy")
        outcome.expectDone()
        for (place, call) in [("open", "open"), ("format", "VIDIOC_S_FMT"), ("buffers", "VIDIOC_REQBUFS")] {
            let line = outcome.lines.first { $0.hasPrefix("\(place): ") } ?? ""
            #expect(line.hasPrefix("\(place): another program uses the camera: given "))
            #expect(line.hasSuffix("/video0 (\(call) returned 16)"))
        }
        #expect(outcome.lines.contains { $0.hasPrefix("start: the bus has no bandwidth left for the camera") })
    }

    @Test func refusalsSayWhatTheCameraOffers() throws {
        let outcome = try CameraRig.run("refusals")
        outcome.expectDone()
        let offers = "NV12 64x48 at 30 fps; MJPG 64x48 at 60 fps"
        let expected = [
            "none: there is no such camera: given the first camera, allowed none",
            "no size: the camera has no size that is large enough: given 128x96, any format, allowed \(offers)",
            "no rate: the camera does not reach the frame rate at that size: given 64x48, 60 fps, nv12, "
                + "allowed NV12 64x48 at 30 fps",
            "no format: the camera has none of the wanted formats: given 64x48, yuyv, allowed \(offers)",
        ]
        for line in expected { #expect(outcome.lines.contains(line), "\(line)") }
    }

    @Test(arguments: ["yuvj420p", "yuvj422p"])
    func picturesOfJPEGAreThoseOfFFmpeg(format: String) throws {
        let pictures = try JPEGPictures(format)
        try CameraRig.run("jpeg", pictures.arguments()).expectDone()
        try CameraRig.run("jpeg-damage", pictures.arguments()).expectDone()
        withExtendedLifetime(pictures) {}
    }

    @Test(arguments: ["jpeg-cut", "jpeg-holes"])
    func aDamagedJPEGIsCountedAndNeverShown(scenario: String) throws {
        let pictures = try JPEGPictures("yuvj422p")
        try CameraRig.run(scenario, pictures.arguments(1)).expectDone()
        withExtendedLifetime(pictures) {}
    }

    @Test func h264IsPassedOnUnchanged() throws {
        let scratch = try ScratchFolder()
        try CameraRig.ffmpeg(
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=320x240:rate=30",
            "-frames:v",
            "30",
            "-c:v",
            "libx264",
            "-g",
            "10",
            "-bf",
            "0",
            "-x264-params",
            "aud=1:repeat-headers=1:scenecut=0",
            "-f",
            "h264",
            scratch.path("stream")
        )
        let outcome = try CameraRig.run("coded", [scratch.path("stream"), "10"])
        outcome.expectDone()
        #expect(outcome.lines.contains("30 units"))
    }
}

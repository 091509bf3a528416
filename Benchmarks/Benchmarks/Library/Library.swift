// SPDX-License-Identifier: GPL-2.0-or-later

import Benchmark
import BitstreamSyntax
import GOPPlanning
import MediaTypes
import PixelConversion

/// What the library itself costs, apart from encoders: each benchmark is one operation, which the name says.
let benchmarks: @Sendable () -> Void = {
    // Processor time has a grain of 10 ms here, and counts of allocations read 0 on this platform.
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock],
        warmupIterations: 3,
        maxDuration: .seconds(1),
        maxIterations: 100_000
    )
    addFraming()
    addParameterSets()
    addPlanning()
    addConversion()
    addSessions()
}

private func addFraming() {
    let stream = Inputs.annexB(units: 8, unitBytes: 12_000)
    let lengths = try? NALUnitFraming.annexB.convert(stream, to: .lengthPrefixed(.four))
    let zeroes = [UInt8](repeating: 0, count: 96_000)
    Benchmark("framing: 96 kB from start codes to lengths") { _ in
        blackHole(try NALUnitFraming.annexB.convert(stream, to: .lengthPrefixed(.four)))
    }
    Benchmark("framing: 96 kB from lengths to start codes") { _ in
        guard let lengths else { return }
        blackHole(try NALUnitFraming.lengthPrefixed(.four).convert(lengths, to: .annexB))
    }
    Benchmark("framing: emulation prevention of 96 kB of zeroes") { _ in
        blackHole(EmulationPrevention.added(to: zeroes))
    }
}

private func addParameterSets() {
    Benchmark("parameter sets: write an H.264 SPS") { _ in
        blackHole(try H264SequenceParameterSet().nalUnit())
    }
    Benchmark("parameter sets: read an H.264 SPS") { benchmark in
        let unit = try H264SequenceParameterSet().nalUnit()
        benchmark.startMeasurement()
        blackHole(try H264SequenceParameterSet(nalUnit: unit))
    }
    Benchmark("parameter sets: write an HEVC SPS") { _ in
        blackHole(try HEVCSequenceParameterSet().nalUnit())
    }
    Benchmark("parameter sets: read an HEVC SPS") { benchmark in
        let unit = try HEVCSequenceParameterSet().nalUnit()
        benchmark.startMeasurement()
        blackHole(try HEVCSequenceParameterSet(nalUnit: unit))
    }
}

private func addPlanning() {
    for (name, bFrames, depth) in [("P-frames", 0, 0), ("a pyramid of B-frames", 7, 3)] {
        Benchmark("planning: 250 pictures with \(name), numbered for H.264") { _ in
            var structure = GOPStructure()
            structure.consecutiveBFrames = bFrames
            structure.pyramidDepth = depth
            var planner = try GOPPlanner(structure)
            var numbering = try H264PictureNumbering(structure)
            for number in 0..<250 {
                for picture in try planner.add(InputPicture(number: Int64(number))) {
                    blackHole(numbering.number(picture))
                }
            }
            for picture in planner.finish() { blackHole(numbering.number(picture)) }
        }
    }
}

private func addConversion() {
    for (name, source, target) in [
        ("BGRA to NV12", PixelFormat.bgra, PixelFormat.nv12), ("I420 to NV12", .i420, .nv12),
        ("NV12 to P010", .nv12, .p010),
    ] {
        Benchmark("conversion: \(name), 1280x720") { benchmark in
            let picture = try Inputs.picture(source, 1280, 720)
            let converter = try PixelConverter(output: .init(format: target, width: 1280, height: 720))
            benchmark.startMeasurement()
            blackHole(try converter.convert(picture))
        }
    }
    Benchmark("conversion: NV12 from 1280x720 to 640x360") { benchmark in
        let picture = try Inputs.picture(.nv12, 1280, 720)
        let converter = try PixelConverter(output: .init(format: .nv12, width: 640, height: 360))
        benchmark.startMeasurement()
        blackHole(try converter.convert(picture))
    }
}

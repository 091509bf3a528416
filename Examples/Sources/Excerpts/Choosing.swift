// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Transcoding
import VAToolbox

/// What the article about choosing an encoder shows.
func choose(_ configuration: EncoderConfiguration) async throws {
    var options = SessionOptions()
    options.policy = .requireHardware
    options.devices.placement = .spread
    options.devices.sessionsPerDevice = 8
    options.devices.verifier = DecodingVerifier()
    let session = try await CompressionSession(configuration: configuration, options: options)

    let encoder = session.encoder
    print("\(encoder.properties.name) on \(encoder.identity.device ?? "the CPU")")
    print("\(encoder.properties.profile) \(encoder.properties.level), because: \(encoder.reason)")
    for rejection in encoder.rejected {
        print("not \(rejection)")
        rejection.remedies.forEach { print("    \($0)") }
    }

    for adjustment in session.adjustments + encoder.properties.adjustments {
        print("\(adjustment.property): asked for \(adjustment.requested), used \(adjustment.used)")
    }
    if !session.supportedProperties.contains(.longTermReferences) {
        print("frames cannot be marked as long-term references")
    }
}

/// The same, of devices that are named.
func chooseByName(_ configuration: EncoderConfiguration) async throws -> CompressionSession {
    var options = SessionOptions()
    options.policy = .devices(["/dev/dri/renderD129", "/dev/dri/renderD128"], software: true)
    return try await CompressionSession(configuration: configuration, options: options)
}

/// What GPUs can do, without a session.
func ask() async {
    var configuration = EncoderConfiguration(width: 3840, height: 2160)
    configuration.codec = .hevc
    configuration.bitDepth = 10
    for answer in await HardwareSupport.encodeSupport(configuration) {
        print("\(answer.device): \(answer.isSupported ? "yes" : answer.reason)")
    }
}

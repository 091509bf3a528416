// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import MediaTypes
import VAToolbox

/// What the article about failover and isolation shows.
func isolate(_ configuration: EncoderConfiguration) async throws -> CompressionSession {
    var helpers = HelperPool.Options()
    helpers.keepsSpare = true
    helpers.connectionsPerHelper = 4
    var options = SessionOptions()
    options.isolation = .process
    options.helpers = try HelperPool(helpers)
    options.limits.frameDeadline = .seconds(10)
    return try await CompressionSession(configuration: configuration, options: options)
}

/// Logs the events of a session.
func log(_ session: CompressionSession) -> Task<Void, Never> {
    Task { [events = session.events] in
        for await event in events {
            switch event {
            case .encoderCreated(let encoder):
                print("encoding by \(encoder.identity): \(encoder.reason)")
            case .encoderFailed(let encoder, let error, let framesToRepeat):
                print("\(encoder) failed: \(error); \(framesToRepeat) frames are encoded again")
            case .encoderSwitched(let change):
                print("\(change.to) continues at frame \(change.frame)")
            case .frameDropped(let presentationTime, _):
                print("dropped the frame of \(presentationTime)")
            case .frameLost(let presentationTime, _, let error):
                print("lost the frame of \(presentationTime): \(error)")
            case .adjusted(let adjustment):
                print("not as asked: \(adjustment)")
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import HelperIPC
import MediaTypes
import TestSupport

/// A helper whose encoders play what tests of sessions write for them.
@main enum ScriptedHelper {
    static func main() {
        var services = HelperServices()
        services.otherEncoders = { RemotePartFactory(identity: $0) }
        do {
            try HelperServer(socket: 3, services: services).run()
        } catch {
            // An encoder may be stuck, so nothing is waited for.
            _exit(error.code == .inputOutput ? 0 : 1)
        }
    }
}

/// Makes the encoder that the client describes where a device would be named.
struct RemotePartFactory: EncoderFactory {
    let identity: EncoderIdentity

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        guard let part = identity.device.flatMap({ RemotePart(text: $0) }) else {
            throw MediaError(.invalidArgument, "this is no script", given: identity.device)
        }
        return try ScriptedEncoder.make(part.id, attempt: part.attempt, part.script, request, RemoteWitness(part))
    }
}

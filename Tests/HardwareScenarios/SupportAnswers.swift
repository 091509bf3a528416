// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import VAToolbox

/// Asks what GPUs can do before there is a session, as an application does that offers a choice; one line for encoding and
/// one for decoding.
struct SupportAnswers {
    let codec: VideoCodec
    var configuration: EncoderConfiguration

    init(_ codec: VideoCodec, _ options: ScenarioOptions) {
        self.codec = codec
        configuration = options.configuration
        configuration.codec = codec == .hevc ? .hevc : .h264
    }

    func report() async {
        report(
            "encode",
            await HardwareSupport.encodeSupport(configuration),
            [
                "any": await HardwareSupport.isEncodeSupported(configuration),
                "usual": await HardwareSupport.isEncodeSupported(codec),
            ]
        )
        report(
            "decode",
            await HardwareSupport.decodeSupport(codec),
            [
                "any": await HardwareSupport.isDecodeSupported(codec)
            ]
        )
    }

    private func report(_ kind: String, _ answers: [HardwareSupport.Answer], _ values: [String: Bool]) {
        var object: [String: Any] = values
        object["devices"] = answers.map { answer -> [String: Any] in
            [
                "device": answer.device, "supported": answer.isSupported, "reason": answer.reason,
                "cause": answer.cause?.rawValue ?? "", "remedies": answer.remedies,
            ]
        }
        say(kind, object)
    }
}

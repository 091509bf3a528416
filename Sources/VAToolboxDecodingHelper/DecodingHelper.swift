// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HardwareDecoder
import HardwareEncoder
import HelperIPC
import HelperMain
import VAAPI
import VideoDecoding

/// The program `vatoolbox-decoding-helper`, which runs decoders and encoders in one process.
@main enum DecodingHelper {
    static func main() {
        HelperMain.run(.decoding) { services in
            services.decoders = VideoCodec.allCases.map { SoftwareDecoderFactory(codec: $0) }
            let displays = SharedDisplays()
            services.otherEncoders = { VAAPIEncoderFactory($0, sharing: displays) }
            services.otherDecoders = { VAAPIDecoderFactory($0, sharing: displays) }
        }
    }
}

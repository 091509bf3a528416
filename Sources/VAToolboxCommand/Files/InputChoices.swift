// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import Transcoding

extension DecoderChoice: ArgumentValue {}
extension MediaSource.Deinterlacing: ArgumentValue {}

// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import HelperMain

/// The program `vatoolbox-helper`, which runs encoders and inspects drivers in a separate process. It starts fast,
/// because it does not load FFmpeg's libraries.
@main enum Helper {
    static func main() { HelperMain.run(.encoding) }
}

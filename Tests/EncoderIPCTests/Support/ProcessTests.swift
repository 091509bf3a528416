// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

/// Everything that starts processes or counts descriptors and threads: one test after another.
@Suite(.serialized) enum ProcessTests {}

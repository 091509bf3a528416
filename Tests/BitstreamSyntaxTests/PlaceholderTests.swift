// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

@Test func codecNamesAreTheFieldsOwn() { #expect(VideoCodec.h264.rawValue == "h264") }

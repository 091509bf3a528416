// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The coded samples of a ``CompressionSession``, in decoding order.
public typealias SampleSequence = OutputSequence<SampleBuffer>

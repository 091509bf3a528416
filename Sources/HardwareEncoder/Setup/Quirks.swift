// SPDX-License-Identifier: GPL-2.0-or-later

/// What has to be known of single drivers because VA-API does not tell it.
struct Quirks: Hashable, Sendable {
    /// The bits of `VACodedBufferSegment.status` that mean something. The driver leaves others undefined.
    var statusMask: UInt32 = .max
    /// Why the driver is not used at all.
    var refusal: String?

    /// What is known of the driver that calls itself so (`vaQueryVendorString`).
    init(vendor: String) {}
}

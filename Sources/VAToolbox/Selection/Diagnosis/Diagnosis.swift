// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
package import RenderNodes

/// The reason why an encoder cannot be used, and what the user can do about it.
///
/// A pure value, derived from the refusal of a render node or driver and from the facts about the GPU
/// (``DeviceFacts``). `probe`, the rejections of a session and its errors report the same value.
package struct Diagnosis: Sendable, Hashable {
    /// What has to change, as a stable name.
    package var cause: MediaError.Cause
    /// The finding and the conclusion, in one or two sentences.
    package var explanation: String
    /// The remedies, most likely first. A command follows a colon and can be copied.
    package var remedies: [String]

    /// Creates a diagnosis.
    package init(_ cause: MediaError.Cause, _ explanation: String, remedies: [String] = []) {
        self.cause = cause
        self.explanation = explanation
        self.remedies = remedies
    }

    /// Diagnoses a render node that cannot be used.
    package init(_ refusal: NodeRefusal) {
        self.init(
            MediaError.Cause(rawValue: refusal.cause.rawValue),
            refusal.explanation,
            remedies: refusal.remedies
        )
    }
}

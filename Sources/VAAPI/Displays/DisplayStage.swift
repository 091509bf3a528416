// SPDX-License-Identifier: GPL-2.0-or-later

/// How far a display has come. Each stage is told before the calls that belong to it: if a driver crashes or hangs, the
/// last one says in what.
public enum DisplayStage: Sendable, Hashable {
    /// The render node is being opened.
    case openingNode
    /// libva looks for the driver's file (`vaGetDisplayDRM`, the beginning of `vaInitialize`).
    case choosingDriver
    /// libva loads a file (`dlopen`), whose constructors run. It may try several, one after the other.
    case loading(file: String)
    /// The file was loaded, and the driver's own start runs (`__vaDriverInit_…`, within `vaInitialize`).
    case initializing(file: String)
    /// The driver is asked for its name (`vaQueryVendorString`).
    case askingVendor
    /// The driver is asked for its profiles (`vaQueryConfigProfiles`).
    case askingProfiles
    /// The driver is asked what it does with a profile (`vaQueryConfigEntrypoints`).
    case askingEntrypoints(Profile)
    /// The driver is asked how it encodes a profile with an entrypoint (`vaGetConfigAttributes`).
    case askingAttributes(Profile, Entrypoint)
    /// The driver is asked which surfaces it encodes from (`vaCreateConfig`, `vaQuerySurfaceAttributes`).
    case askingSurfaces(Profile, Entrypoint)
    /// The driver is let go of (`vaTerminate`).
    case closing

    /// The stage that libva announces with the last of some lines; nil if it announces none.
    init?(announcedBy messages: [DriverMessage]) {
        guard let last = messages.last, last.severity == .info,
            let file = DriverDescription.loadedFile(accordingTo: messages)
        else { return nil }
        if last.text.hasPrefix(DriverDescription.announcement) {
            self = .loading(file: file)
        } else if last.text.hasPrefix("Found init function ") {
            self = .initializing(file: file)
        } else {
            return nil
        }
    }
}

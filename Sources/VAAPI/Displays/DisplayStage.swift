// SPDX-License-Identifier: GPL-2.0-or-later

/// A stage of opening and querying a display. Each stage is reported before its calls: if a driver crashes or hangs,
/// the last stage shows where.
public enum DisplayStage: Sendable, Hashable {
    /// The render node is being opened.
    case openingNode
    /// libva searches for the driver file (`vaGetDisplayDRM`, the beginning of `vaInitialize`).
    case choosingDriver
    /// libva loads a file (`dlopen`), which runs its constructors. It may try several files in turn.
    case loading(file: String)
    /// The file was loaded, and the driver's initialization function runs (`__vaDriverInit_…`, within `vaInitialize`).
    case initializing(file: String)
    /// The driver's vendor string is queried (`vaQueryVendorString`).
    case askingVendor
    /// The driver's profiles are queried (`vaQueryConfigProfiles`).
    case askingProfiles
    /// The entrypoints of a profile are queried (`vaQueryConfigEntrypoints`).
    case askingEntrypoints(Profile)
    /// The attributes of a profile and an entrypoint are queried (`vaGetConfigAttributes`).
    case askingAttributes(Profile, Entrypoint)
    /// The surface attributes of a profile and an entrypoint are queried (`vaCreateConfig`,
    /// `vaQuerySurfaceAttributes`).
    case askingSurfaces(Profile, Entrypoint)
    /// The display is closed (`vaTerminate`).
    case closing

    /// The stage that the last message indicates; nil if it indicates none.
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

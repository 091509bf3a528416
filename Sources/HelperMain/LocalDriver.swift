// SPDX-License-Identifier: GPL-2.0-or-later

import HardwareDisplay
import HelperIPC
import MediaTypes
import VAAPI

/// Inspects drivers in this process, where a crash is acceptable.
enum LocalDriver {
    /// Opens the node, lets libva load its driver, queries its capabilities, reports, and closes the display.
    ///
    /// - Parameters:
    ///   - log: Receives the messages of libva and the driver from libva's callbacks.
    ///   - tell: Receives the stages and the report. A stage that can no longer be delivered is not an error.
    static func inspect(
        path: String,
        log: ForwardedLog,
        tell: @escaping @Sendable (DriverNews) throws(MediaError) -> Void
    ) throws(MediaError) {
        let display = try open(path, log) { try? tell(.stage(DriverStage($0))) }
        let description = try describe(display)
        try tell(.report(DriverReport(description)))
        for listed in description.encoders + description.decoders {
            try tell(.encoder(ask(display, listed.profile, listed.entrypoint)))
        }
        try close(display)
    }

    private static func open(
        _ path: String,
        _ log: ForwardedLog,
        _ onStage: @escaping @Sendable (DisplayStage) -> Void
    ) throws(MediaError) -> Display {
        do throws(DisplayError) {
            return try Display(path: path, onStage: onStage) { message in
                log.write(level: message.severity == .error ? "error" : "debug", message.text)
            }
        } catch {
            throw MediaError(inspecting: error)
        }
    }

    private static func describe(_ display: borrowing Display) throws(MediaError) -> DriverDescription {
        do throws(VAError) { return try display.describe() } catch { throw MediaError(error) }
    }

    /// A refusal for one profile and entrypoint does not affect the others.
    private static func ask(
        _ display: borrowing Display,
        _ profile: Profile,
        _ entrypoint: Entrypoint
    ) -> DriverReport.Encoder {
        var encoder = DriverReport.Encoder(profile: profile.rawValue, entrypoint: entrypoint.rawValue)
        do throws(VAError) {
            encoder.attributes = try display.encodeAttributes(profile: profile, entrypoint: entrypoint)
                .filter { !$0.isNotSupported }
                .map { DriverReport.Attribute(number: $0.attribute.rawValue, value: $0.value) }
            encoder.surfaces = try display.surfaceCapabilities(profile: profile, entrypoint: entrypoint).attributes
                .map { DriverReport.SurfaceAttribute(number: $0.type, flags: $0.flags, value: $0.value) }
        } catch {
            encoder.refusal = MediaError(error)
        }
        return encoder
    }

    private static func close(_ display: consuming Display) throws(MediaError) {
        do throws(VAError) { try display.close() } catch { throw MediaError(error) }
    }
}

extension MediaError {
    /// The messages of libva and the driver go to the log, not to the error as well.
    init(inspecting error: DisplayError) {
        self.init(error)
        if case .failed(let failure) = error.reason { message = "\(failure.text) (\(failure.status))" }
    }

    init(_ error: VAError) {
        self.init(
            .unavailable,
            "\(error.text) (\(error.status))",
            call: error.call,
            status: Int(error.status.rawValue)
        )
    }
}

extension DriverStage {
    init(_ stage: DisplayStage) {
        self =
            switch stage {
            case .openingNode: .openingNode
            case .choosingDriver: .choosingDriver
            case .loading(let file): .loading(file: file)
            case .initializing(let file): .initializing(file: file)
            case .askingVendor: .askingVendor
            case .askingProfiles: .askingProfiles
            case .askingEntrypoints(let profile): .askingEntrypoints(profile: profile.rawValue)
            case .askingAttributes(let profile, let entrypoint):
                .askingAttributes(profile: profile.rawValue, entrypoint: entrypoint.rawValue)
            case .askingSurfaces(let profile, let entrypoint):
                .askingSurfaces(profile: profile.rawValue, entrypoint: entrypoint.rawValue)
            case .closing: .closing
            }
    }
}

extension DriverReport {
    init(_ description: DriverDescription) {
        self.init(
            majorVersion: description.version.major,
            minorVersion: description.version.minor,
            vendor: description.vendor,
            file: description.file,
            profiles: description.profiles.map { profile in
                Profile(
                    number: profile.profile.rawValue,
                    entrypoints: profile.entrypoints.map { Entrypoint(number: $0.rawValue) }
                )
            }
        )
    }
}

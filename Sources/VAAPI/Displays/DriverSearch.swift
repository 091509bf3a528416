// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Glibc

/// The places where libva searches for a GPU's driver, and the files that exist there. Nothing is loaded.
public struct DriverSearch: Sendable, Hashable {
    /// The kernel driver of the GPU, such as `i915`.
    public let kernelDriver: String
    /// The names of the drivers that libva tries, in order.
    public let names: [String]
    /// The files that libva tries, in order.
    public let files: [String]
    /// The ``files`` that exist.
    public let installed: [String]

    /// The names of the drivers that fit the kernel driver, regardless of the environment.
    public let fitting: [String]

    private let settings: Settings

    /// The driver that `LIBVA_DRIVER_NAME` selects; nil if it is not set.
    public var forcedName: String? { settings.driverName }
    /// The folders in `LIBVA_DRIVERS_PATH`; nil if it is not set.
    public var forcedPath: String? { settings.driversPath }
    /// Whether `LIBVA_DRIVER_NAME` selects a driver for other GPUs.
    public var isForOtherGPU: Bool {
        forcedName.map { Self.knownNames.contains($0) && !fitting.contains($0) } ?? false
    }
    /// The minor version of libva; the major version is 2.
    public var libVAVersion: Int32 { settings.minorVersion }

    /// The suffix of driver file names.
    static let suffix = "_drv_video.so"

    /// Searches as libva would in this process: `LIBVA_DRIVER_NAME` and `LIBVA_DRIVERS_PATH` override the table and the
    /// folder that are built into libva.
    public init(kernelDriver: String) {
        self.init(kernelDriver: kernelDriver, settings: .current) { access($0, F_OK) == 0 }
    }

    init(kernelDriver: String, settings: Settings, exists: (String) -> Bool) {
        self.kernelDriver = kernelDriver
        self.settings = settings
        names = settings.driverName.map { [$0] } ?? Self.names(for: kernelDriver, minor: settings.minorVersion)
        files = names.flatMap { name in settings.folders.map { "\($0)/\(name)\(Self.suffix)" } }
        installed = files.filter(exists)
        fitting = Self.names(for: kernelDriver, minor: .max)
    }

    /// The settings that determine where libva searches.
    struct Settings: Sendable, Hashable {
        /// `LIBVA_DRIVER_NAME`, which replaces the table.
        var driverName: String?
        /// `LIBVA_DRIVERS_PATH`, which replaces the default folder: folders separated by colons.
        var driversPath: String?
        /// The default folder that is built into libva.
        var defaultFolder: String
        /// The minor version of libva.
        var minorVersion: Int32

        var folders: [String] {
            driversPath.map { $0.split(separator: ":").map(String.init) } ?? [defaultFolder]
        }
    }
}

// MARK: - libva's driver table

extension DriverSearch {
    /// Returns the drivers in libva's DRM table (va_drm_utils.c). A kernel driver that is not listed maps to its own
    /// name.
    private static func names(for kernelDriver: String, minor: Int32) -> [String] {
        switch kernelDriver {
        case "i915": ["iHD", "i965"]
        case "xe" where minor >= firstMinorThatKnowsXe: ["iHD"]
        case "pvrsrvkm": ["pvr"]
        case "radeon": ["r600", "radeonsi"]
        case "amdgpu": ["radeonsi"]
        case "nvidia-drm": ["nvidia"]
        default: [kernelDriver]
        }
    }

    /// The drivers whose supported GPUs are known.
    private static let knownNames: Set<String> = [
        "iHD", "i965", "r600", "radeonsi", "nouveau", "nvidia", "virtio_gpu", "pvr",
    ]

    private static let firstMinorThatKnowsXe: Int32 = 21

    /// The Debian package that contains a driver for the GPU; nil if none is known.
    public var package: String? { fitting.lazy.compactMap(Self.package).first }

    /// Returns the Debian package that contains a driver.
    private static func package(of name: String) -> String? {
        switch name {
        case "iHD": "intel-media-va-driver"
        case "i965": "i965-va-driver"
        case "r600", "radeonsi", "nouveau", "virtio_gpu": "mesa-va-drivers"
        default: nil
        }
    }
}

// MARK: - Remedies

extension DriverSearch {
    /// The remedies for a missing driver file, most likely first; empty if a file exists.
    public var remedies: [String] {
        guard installed.isEmpty else { return [] }
        var remedies: [String] = []
        if let name = settings.driverName {
            remedies.append("let libva choose the driver instead of \(name): unset LIBVA_DRIVER_NAME")
        }
        if let path = settings.driversPath {
            remedies.append("let libva use its own folder instead of \(path): unset LIBVA_DRIVERS_PATH")
        }
        if kernelDriver == "xe", names == ["xe"] {
            let version = "libva 2.\(settings.minorVersion)"
            remedies.append(
                "\(version) does not know the kernel driver xe; select the driver: export LIBVA_DRIVER_NAME=iHD"
            )
        }
        if let package {
            remedies.append("install the driver: sudo apt-get install \(package)")
        }
        if fitting.contains("iHD") {
            remedies.append("for all encoders of the GPU (Debian's non-free): intel-media-va-driver-non-free")
        }
        if kernelDriver.hasPrefix("nvidia") {
            remedies.append("encode in software: no VA-API driver can encode on NVIDIA GPUs")
        }
        return remedies
    }
}

// MARK: - This process

extension DriverSearch.Settings {
    /// The settings of this process. libva ignores the environment in a set-user-ID program.
    static var current: Self {
        func variable(_ name: String) -> String? {
            guard getuid() == geteuid(), let value = getenv(name) else { return nil }
            return String(cString: value)
        }
        return Self(
            driverName: variable("LIBVA_DRIVER_NAME"),
            driversPath: variable("LIBVA_DRIVERS_PATH"),
            defaultFolder: folder(of: fileOfLibVA) ?? "/usr/lib/dri",
            minorVersion: fileOfLibVA.flatMap { minorVersion(ofLibrary: $0) } ?? VA_MINOR_VERSION
        )
    }

    /// The file of the loaded libva.
    private static var fileOfLibVA: String? {
        guard let name = clibva_loaded_file(), let path = realpath(name, nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Drivers are in `dri` next to libva unless its packager chose another folder. libva does not report the folder;
    /// only its pkg-config file does, which is part of the development package.
    private static func folder(of library: String?) -> String? {
        library.flatMap { file in file.lastIndex(of: "/").map { String(file[..<$0]) + "/dri" } }
    }

    /// Returns the minor version of a libva, which may differ from the one that this package was built with. libva's
    /// build names its library `libva.so.2.2200.0` for 2.22.0 (`meson.build`).
    static func minorVersion(ofLibrary file: String) -> Int32? {
        guard let name = file.split(separator: "/").last, name.hasPrefix("libva.so.2."),
            let number = name.split(separator: ".").dropFirst(3).first.flatMap({ Int32($0) }), number >= 100
        else { return nil }
        return number / 100
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Glibc

/// Where libva looks for a GPU's driver, and what is there. Nothing is loaded.
public struct DriverSearch: Sendable, Hashable {
    /// The kernel driver of the GPU, such as `i915`.
    public let kernelDriver: String
    /// The names of the drivers that libva tries, in its order.
    public let names: [String]
    /// The files that libva tries, in its order.
    public let files: [String]
    /// Those of ``files`` that exist.
    public let installed: [String]

    /// The names of the drivers that suit the kernel driver, whatever the environment asks for.
    public let fitting: [String]

    private let settings: Settings

    /// The driver that `LIBVA_DRIVER_NAME` asks for; nil without.
    public var forcedName: String? { settings.driverName }
    /// The folders that `LIBVA_DRIVERS_PATH` names; nil without.
    public var forcedPath: String? { settings.driversPath }
    /// Whether `LIBVA_DRIVER_NAME` asks for a driver of other GPUs.
    public var isForOtherGPU: Bool {
        forcedName.map { Self.knownNames.contains($0) && !fitting.contains($0) } ?? false
    }
    /// The second number of libva's version; the first is 2.
    public var libVAVersion: Int32 { settings.minorVersion }

    /// What a driver's file name ends with.
    static let suffix = "_drv_video.so"

    /// Looks as libva would in this process: `LIBVA_DRIVER_NAME` and `LIBVA_DRIVERS_PATH` rule, else the table and
    /// the folder that are built into libva.
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

    /// What decides where libva looks.
    struct Settings: Sendable, Hashable {
        /// `LIBVA_DRIVER_NAME`, which replaces the table.
        var driverName: String?
        /// `LIBVA_DRIVERS_PATH`, which replaces the default folder: folders separated by colons.
        var driversPath: String?
        /// The folder built into libva.
        var defaultFolder: String
        /// The second number of libva's version.
        var minorVersion: Int32

        var folders: [String] {
            driversPath.map { $0.split(separator: ":").map(String.init) } ?? [defaultFolder]
        }
    }
}

// MARK: - What libva knows

extension DriverSearch {
    /// libva's table for DRM (its va_drm_utils.c); a kernel driver that it does not list stands for itself.
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

    /// Drivers of which it is known for which GPUs they are.
    private static let knownNames: Set<String> = [
        "iHD", "i965", "r600", "radeonsi", "nouveau", "nvidia", "virtio_gpu", "pvr",
    ]

    private static let firstMinorThatKnowsXe: Int32 = 21

    /// The Debian package that holds a driver that suits the GPU; nil if none is known.
    public var package: String? { fitting.lazy.compactMap(Self.package).first }

    /// The Debian package that holds a driver.
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
    /// What to do when no driver file is there, the likeliest first; empty when one is.
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
    /// Those of this process. libva ignores the environment of a set-user-ID program.
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

    /// The file that libva was loaded from.
    private static var fileOfLibVA: String? {
        guard let name = clibva_loaded_file(), let path = realpath(name, nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Drivers are in `dri` beside libva unless its packager chose otherwise; libva does not tell (its pkg-config file does,
    /// which only machines for building have).
    private static func folder(of library: String?) -> String? {
        library.flatMap { file in file.lastIndex(of: "/").map { String(file[..<$0]) + "/dri" } }
    }

    /// The second number of the version of a libva, which may be another one than this was built with: libva's build makes
    /// `libva.so.2.2200.0` of 2.22.0 (its `meson.build`).
    static func minorVersion(ofLibrary file: String) -> Int32? {
        guard let name = file.split(separator: "/").last, name.hasPrefix("libva.so.2."),
            let number = name.split(separator: ".").dropFirst(3).first.flatMap({ Int32($0) }), number >= 100
        else { return nil }
        return number / 100
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import HelperIPC
import MediaTypes
package import RenderNodes
package import VAAPI

/// The facts about a GPU and the search path of its driver, collected before any failure. A ``Diagnosis`` is derived
/// from them.
package struct DeviceFacts: Sendable, Hashable {
    /// The path of the render node.
    package var path: String
    /// The kernel driver; `nil` if it is unknown.
    package var kernelDriver: String?
    /// The PCI function; `nil` for a GPU on another bus.
    package var pci: PCIFunction?
    /// The state of Intel's HuC firmware; `nil` if it is not reported.
    package var huC: HuCFirmware?
    /// Where libva looks for the driver in this process, and in its helpers; `nil` without a kernel driver.
    package var search: DriverSearch?
    /// Whether helper processes are sandboxed.
    package var isSandboxed = true
    /// Whether the GPU is to decode; otherwise, it is to encode.
    package var isForDecoding = false

    /// Collects the facts from the result of a survey and searches for driver files. Loads no driver.
    package init(_ node: RenderNode, isForDecoding: Bool = false) {
        self.init(
            path: node.path,
            kernelDriver: node.kernelDriver,
            pci: node.pci,
            huC: node.huC,
            search: node.kernelDriver.map { DriverSearch(kernelDriver: $0) }
        )
        self.isForDecoding = isForDecoding
        isSandboxed = linux_environment("VATOOLBOX_SANDBOX").map { String(cString: $0) } != "off"
    }

    /// Creates facts from their values.
    package init(
        path: String,
        kernelDriver: String?,
        pci: PCIFunction? = nil,
        huC: HuCFirmware? = nil,
        search: DriverSearch? = nil
    ) {
        self.path = path
        self.kernelDriver = kernelDriver
        self.pci = pci
        self.huC = huC
        self.search = search
    }
}

extension DeviceFacts {
    var isIntel: Bool { kernelDriver == "i915" || kernelDriver == "xe" }
    var isAMD: Bool { kernelDriver == "amdgpu" || kernelDriver == "radeon" }

    /// The name of the GPU for users, such as `Intel 8086:9a49`.
    var gpuName: String {
        guard let pci else { return kernelDriver.map { "GPU of the kernel driver \($0)" } ?? "GPU" }
        return [pci.vendorName, pci.identifier].compactMap(\.self).joined(separator: " ")
    }

    /// The name of the driver that libva selects: the forced one, or the first one whose file exists.
    var driverName: String? {
        guard let search else { return nil }
        return search.installed.first.flatMap(DriverDescription.name(ofFile:)) ?? search.names.first
    }

    /// The helper program that loads its driver.
    var helper: HelperProgram { isForDecoding ? .decoding : .encoding }

    /// The remedy that always remains.
    var elsewhere: [String] {
        isForDecoding
            ? ["decode on another GPU or on the CPU: vatoolbox decode --decoder software ..."]
            : ["encode on another GPU or on the CPU: vatoolbox encode --device software ..."]
    }

    /// The diagnosis if no VA-API driver supports the task with the kernel driver; `nil` if it is not known.
    func lackOfVAAPI(_ kernelDriver: String, _ found: String) -> Diagnosis? {
        guard let reason = KernelDriversWithoutVAAPI.reason(kernelDriver, isForDecoding: isForDecoding) else {
            return nil
        }
        let task = isForDecoding ? "decoding" : "encoding"
        return Diagnosis(
            isForDecoding ? .noVAAPIDecoder : .noVAAPIEncoder,
            "\(found). No VA-API driver supports \(task) with the kernel driver \(kernelDriver): \(reason)",
            remedies: elsewhere
        )
    }

    /// Returns ways to use another driver for the same GPU.
    func otherDrivers(than name: String?) -> [String] {
        let names = (search?.installed ?? []).compactMap(DriverDescription.name(ofFile:))
        return names.filter { name != nil && $0 != name }.map {
            "try the other driver: LIBVA_DRIVER_NAME=\($0) vatoolbox probe"
        }
    }
}

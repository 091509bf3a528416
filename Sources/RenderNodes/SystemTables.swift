// SPDX-License-Identifier: GPL-2.0-or-later

/// The contents of a device's `uevent` file in sysfs.
struct DeviceEvent: Hashable {
    let driver: String?
    let pci: PCIFunction?

    /// Parses `KEY=value` lines. Members for missing or malformed keys are nil.
    init(_ text: String) {
        var values: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[line[..<equals]] = line[line.index(after: equals)...]
        }
        driver = values["DRIVER"].flatMap { $0.isEmpty ? nil : String($0) }
        let identifiers = values["PCI_ID"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        if let address = values["PCI_SLOT_NAME"], identifiers.count == 2,
            let vendor = UInt16(identifiers[0], radix: 16), let device = UInt16(identifiers[1], radix: 16)
        {
            pci = PCIFunction(address: String(address), vendorID: vendor, deviceID: device)
        } else {
            pci = nil
        }
    }
}

/// The groups in `/etc/group` with their names and members.
struct GroupTable: Hashable {
    struct Entry: Hashable {
        let name: String
        let members: [String]
    }

    let entries: [UInt32: Entry]

    /// Parses `name:password:number:member,member` lines and skips malformed ones.
    init(_ text: String) {
        entries = text.split(separator: "\n").reduce(into: [:]) { entries, line in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 4, !fields[0].isEmpty, let number = UInt32(fields[2]) else { return }
            let members = fields[3].split(separator: ",").map(String.init)
            entries[number] = entries[number] ?? Entry(name: String(fields[0]), members: members)
        }
    }
}

/// The user names in `/etc/passwd`.
struct UserTable: Hashable {
    let names: [UInt32: String]

    /// Parses `name:password:number:...` lines and skips malformed ones.
    init(_ text: String) {
        names = text.split(separator: "\n").reduce(into: [:]) { names, line in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count >= 3, !fields[0].isEmpty, let number = UInt32(fields[2]) else { return }
            names[number] = names[number] ?? String(fields[0])
        }
    }
}

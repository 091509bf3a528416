// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import HelperSandbox

@Suite struct SandboxPolicyTests {
    private func policy(_ variables: [String: String], libraries: [String] = []) throws -> SandboxPolicy {
        try SandboxPolicy(
            environment: { variables[$0] },
            program: "/srv/tools/bin/vatoolbox-helper",
            libraries: libraries
        )
    }

    private func grants(_ access: SandboxPolicy.Access, _ policy: SandboxPolicy) -> Set<String> {
        Set(policy.grants.filter { $0.access == access }.map(\.path))
    }

    @Test func whatIsWritableAndWhatIsADeviceIsListed() throws {
        let policy = try policy([:])
        #expect(policy.isOn)
        #expect(grants(.devices, policy) == ["/dev/dri"])
        #expect(grants(.readWrite, policy) == ["/dev/null", "/dev/zero"])
        #expect(grants(.everything, policy).isEmpty)
        let read = grants(.read, policy)
        #expect(read.isSuperset(of: ["/usr", "/srv/tools/bin", "/proc/self", "/sys/devices"]))
        #expect(read.isDisjoint(with: ["/", "/etc", "/proc", "/sys", "/dev", "/home", "/tmp", "/dev/shm"]))
    }

    @Test func librariesAreReadWhereTheyAre() throws {
        let policy = try policy(
            [
                "LIBVA_DRIVERS_PATH": "/a/dri:/b/dri", "LD_LIBRARY_PATH": "/c;/d", "HOME": "/home/me",
                "LD_PRELOAD": "/e/shim.so libplain.so:/home/me/other.so",
            ],
            libraries: ["/f/swift/libswiftCore.so", "/tmp/libloose.so", "/libroot.so", "linux-vdso.so.1"]
        )
        let read = grants(.read, policy)
        #expect(read.isSuperset(of: ["/a/dri", "/b/dri", "/c", "/d", "/e", "/f/swift"]))
        // Folders that hold more than libraries are not opened for one.
        #expect(read.isSuperset(of: ["/home/me/other.so", "/tmp/libloose.so", "/libroot.so"]))
        #expect(read.isDisjoint(with: ["/home/me", "/tmp", "", "/", "linux-vdso.so.1", "libplain.so", "."]))
    }

    /// Whatever `HOME` says, and however it says it.
    @Test(arguments: [nil, "", "/", "/data/me", "/data/me/", "//data/./me//", "/home/me", "/home/me/"])
    func aLibraryInAHomeDoesNotOpenTheHome(home: String?) throws {
        let loose = [
            "/home/me/lib.so", "/home//me/./lib.so", "/run/user/1000/lib.so", "/srv/lib.so", "/mnt/lib.so",
            "/media/lib.so", "/run/user/lib.so", "/var/home/me/lib.so", "/home/me/a/../lib.so",
        ]
        let policy = try policy(
            home.map { ["HOME": $0] } ?? [:],
            libraries: loose + ["/data/me/lib.so", "/home/me/drivers/lib.so", "/mnt/disk/lib.so", "//data//x/./lib.so"]
        )
        let read = grants(.read, policy)
        #expect(read.isSuperset(of: loose))
        #expect(read.isSuperset(of: ["/home/me/drivers", "/mnt/disk", "/data/x"]))
        #expect(
            read.isDisjoint(with: ["/home/me", "/home//me/.", "/run/user/1000", "/srv", "/mnt", "/var/home/me", "/"])
        )
        // A home in an unusual place is known by the variable alone.
        let isKnown = home?.contains("data") == true
        #expect(read.contains(isKnown ? "/data/me/lib.so" : "/data/me"))
        #expect(!read.contains(isKnown ? "/data/me" : "/data/me/lib.so"))
    }

    @Test func aTaskHasItsProgramsAndWhatIsGranted() {
        func policy(_ access: TaskAccess) -> SandboxPolicy {
            SandboxPolicy(
                task: access,
                guardians: [7],
                environment: { ["LIBVA_DRIVERS_PATH": "/a/dri", "HOME": "/home/me"][$0] },
                libraries: ["/lib64/ld-linux-x86-64.so.2", "/f/swift/libswiftCore.so", "linux-vdso.so.1"]
            )
        }
        let access = TaskAccess(programs: ["/srv/bin/encode", "/home/me/helper"], readable: ["/r"], writable: ["/w"])
        let plain = policy(access)
        #expect(plain.isOn && plain.calls == .task(network: false, guardians: [7]))
        #expect(
            grants(.execute, plain) == ["/srv/bin/encode", "/home/me/helper", "/lib64/ld-linux-x86-64.so.2"]
        )
        #expect(grants(.everything, plain) == ["/w"] && grants(.devices, plain).isEmpty)
        #expect(grants(.readWrite, plain) == ["/dev/null", "/dev/zero"])
        let read = grants(.read, plain)
        #expect(read.isSuperset(of: ["/r", "/srv/bin", "/a/dri", "/f/swift", "/usr", "/proc", "/home/me/helper"]))
        #expect(read.isDisjoint(with: ["/", "/etc", "/sys", "/dev", "/home/me", "/tmp", "/dev/shm", "/w", "/var"]))

        var more = access
        (more.devices, more.network) = (true, true)
        #expect(grants(.devices, policy(more)) == ["/dev/dri"] && policy(more).calls.allowsNetwork)
        #expect(!plain.calls.allowsNetwork && !SandboxPolicy.Calls.helper.allowsNetwork)
    }

    @Test func furtherFoldersCanBeWritable() throws {
        let policy = try policy(["VATOOLBOX_SANDBOX_WRITABLE": "/var/tmp/traces:/x::"])
        #expect(grants(.everything, policy) == ["/var/tmp/traces", "/x"])
    }

    @Test(arguments: [(nil, true), ("", true), ("on", true), ("off", false)])
    func theModeIsRead(value: String?, isOn: Bool) throws {
        #expect(try policy(value.map { ["VATOOLBOX_SANDBOX": $0] } ?? [:]).isOn == isOn)
    }

    @Test(arguments: ["no", "0", "OFF", "off ", "strict"]) func otherModesAreErrors(value: String) {
        let error = #expect(throws: MediaError.self) { try policy(["VATOOLBOX_SANDBOX": value]) }
        #expect(error?.code == .invalidArgument && error?.given == value && error?.allowed == "on, off")
    }
}

@Suite struct LandlockRightsTests {
    /// The bits that each version added, as linux/landlock.h numbers them.
    @Test func everyVersionDeniesWhatItKnows() {
        let files = (1...7).map { LandlockRights(version: $0).files }
        #expect(files == [0x1FFF, 0x3FFF, 0x7FFF, 0x7FFF, 0xFFFF, 0xFFFF, 0xFFFF])
        #expect((1...7).map { LandlockRights(version: $0).network } == [0, 0, 0, 3, 3, 3, 3])
        #expect((1...7).map { LandlockRights(version: $0).scopes } == [0, 0, 0, 0, 0, 3, 3])
        #expect(LandlockRights(version: 40) == LandlockRights(version: 7))
    }

    @Test func nothingIsGrantedThatIsNotDenied() {
        for version in Int32(1)...7 {
            let rights = LandlockRights(version: version)
            for access in [SandboxPolicy.Access.read, .readWrite, .devices, .everything] {
                for isFolder in [false, true] {
                    let granted = rights.granted(by: access, isFolder: isFolder)
                    #expect(granted & ~rights.files == 0)
                    // Nothing can be executed.
                    #expect(granted & 1 == 0)
                    // The kernel refuses rights of folders for files: listing, removing, making, moving.
                    if !isFolder { #expect(granted & 0x3FF8 == 0) }
                }
            }
        }
        let newest = LandlockRights(version: 7)
        // A program can be read and run, and nothing besides; a folder that is written to has no links or devices.
        #expect(newest.granted(by: .execute, isFolder: false) == 0b101)
        #expect(newest.granted(by: .everything, isFolder: true) == 0b110_0001_1011_1110)
        #expect(newest.granted(by: .everything, isFolder: false) == 1 << 14 | 0b110)
        #expect(newest.granted(by: .read, isFolder: true) == 0b1100)
        #expect(newest.granted(by: .devices, isFolder: true) == 1 << 15 | 0b1110)
    }

    @Test func whatAVersionLacksIsSaid() {
        #expect(LandlockRights.missing(inVersion: 7).isEmpty && LandlockRights.missing(inVersion: 6).isEmpty)
        #expect(LandlockRights.missing(inVersion: 4) == ["device requests (ioctl)", "signals and abstract sockets"])
        #expect(LandlockRights.missing(inVersion: 1).count == 4)
    }
}

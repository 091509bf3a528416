// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import Synchronization
import Testing

@testable import VAToolbox

/// What is known of devices, in a folder and in memory.
@Suite struct SelectionStateTests {
    /// A folder of one test.
    final class Folder: Sendable {
        let path: String

        init() {
            var template = Array("/tmp/vatoolbox-state-XXXXXX".utf8CString)
            path = String(cString: mkdtemp(&template))
        }

        deinit {
            for kind in ["proofs", "breakers", "sessions"] {
                for name in [".turn"] + StateFile.names("\(path)/\(kind)") { unlink("\(path)/\(kind)/\(name)") }
                rmdir("\(path)/\(kind)")
            }
            unlink("\(path)/file")
            rmdir(path)
        }
    }

    /// In a folder; in a folder that cannot be, below a plain file; and in memory.
    private static func states(_ folder: Folder) -> [SelectionState] {
        close(open("\(folder.path)/file", O_CREAT | O_WRONLY, 0o600))
        return [
            SelectionState(folder: folder.path), SelectionState(folder: "\(folder.path)/file/below"),
            SelectionState(folder: "/proc/vatoolbox"), SelectionState(folder: nil),
        ]
    }

    @Test func recordsAreKept() {
        let folder = Folder()
        for state in Self.states(folder) {
            let record = StateRecord(["a": "one\ntwo \\n three\r", "b": "", "c": "ü"])
            #expect(state.record("proofs/x") == nil)
            state.keep(record, as: "proofs/x")
            #expect(state.record("proofs/x") == record && state.names("proofs") == ["proofs/x"])
            state.update("proofs/x") { old in
                var new = old ?? StateRecord()
                new["d"] = "4"
                return new
            }
            #expect(state.record("proofs/x")?["d"] == "4" && state.record("proofs/x")?["a"] == record["a"])
            state.reset()
            #expect(state.record("proofs/x") == nil && state.names("proofs").isEmpty)
        }
        #expect(Self.states(folder).map(\.isShared) == [true, false, false, false])
        // Two states in one folder are one; two in memory are two.
        SelectionState(folder: folder.path).keep(StateRecord(["a": "1"]), as: "proofs/y")
        #expect(SelectionState(folder: folder.path).record("proofs/y")?["a"] == "1")
    }

    @Test func othersCannotReadIt() {
        let folder = Folder()
        SelectionState(folder: folder.path).keep(StateRecord(), as: "proofs/x")
        func mode(_ path: String) -> UInt32 {
            var status = stat()
            return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
        }
        #expect(mode("\(folder.path)/proofs") == 0o700 && mode("\(folder.path)/proofs/x") == 0o600)
    }

    /// Whatever a file holds, it is a record or nothing.
    @Test func damagedFiles() throws {
        let whole = StateRecord(["kind": "proof", "a": "1 2"]).text
        #expect(StateRecord(text: whole)?["a"] == "1 2")
        for length in 0..<whole.count { #expect(StateRecord(text: String(whole.prefix(length))) == nil) }
        for index in whole.indices {
            var text = whole
            text.replaceSubrange(index...index, with: whole[index] == "x" ? "y" : "x")
            #expect(StateRecord(text: text) == nil)
        }
        let folder = Folder()
        let state = SelectionState(folder: folder.path)
        state.keep(StateRecord(["a": "1"]), as: "proofs/x")
        let path = "\(folder.path)/proofs/x"
        for bytes in [[], [0xFF, 0xFE], Array("vatoolbox-state 2\n".utf8), [UInt8](repeating: 65, count: 1 << 17)] {
            let descriptor = open(path, O_WRONLY | O_TRUNC)
            #expect(write(descriptor, bytes, bytes.count) == bytes.count)
            close(descriptor)
            #expect(state.record("proofs/x") == nil)
        }
        // A link, a folder and a pipe in the place of a file.
        unlink(path)
        #expect(symlink("/etc/passwd", path) == 0 && state.record("proofs/x") == nil)
        unlink(path)
        #expect(mkfifo(path, 0o600) == 0 && state.record("proofs/x") == nil)
        unlink(path)
        state.keep(StateRecord(["a": "2"]), as: "proofs/x")
        #expect(state.record("proofs/x")?["a"] == "2")
    }

    @Test func locksAreHeldByOne() {
        let folder = Folder()
        for state in Self.states(folder) {
            let lock = state.tryLock("breakers/x.trial")
            #expect(lock != nil && state.tryLock("breakers/x.trial") == nil && state.isLocked("breakers/x.trial"))
            #expect(state.lock("breakers/x.trial", within: .milliseconds(1)) == nil)
            lock?.release()
            #expect(!state.isLocked("breakers/x.trial") && state.tryLock("breakers/x.trial") != nil)
        }
    }

    @Test func placesAreTakenUpToTheLimit() {
        let folder = Folder()
        for state in Self.states(folder) {
            var held = (0..<3).compactMap { state.takePlace("sessions/x", of: 3, "number \($0)") }
            #expect(held.count == 3 && state.takePlace("sessions/x", of: 3, "") == nil)
            #expect(
                state.places("sessions/x").map(\.text).map { $0.prefix(8) } == ["number 0", "number 1", "number 2"]
            )
            // Who has another limit counts the same places.
            #expect(state.takePlace("sessions/x", of: 2, "") == nil)
            held[1].release()
            #expect(state.places("sessions/x").map(\.number) == [0, 2])
            held[1] = state.takePlace("sessions/x", of: 3, "again") ?? held[0]
            #expect(state.places("sessions/x").map(\.number) == [0, 1, 2])
            held = []
            #expect(state.places("sessions/x").isEmpty)
        }
    }

    /// Threads stand in for processes: each opens the files for itself.
    @Test func manyAtOnce() {
        let folder = Folder()
        for state in [SelectionState(folder: folder.path), SelectionState(folder: nil)] {
            let most = Mutex(0)
            let now = Mutex(0)
            _ = Array(0..<8).inParallel { _ in
                for _ in 0..<20 {
                    state.update("breakers/x") { old in
                        let count = (old?["n"]).flatMap(Int.init) ?? 0
                        return StateRecord(["n": "\(count + 1)"])
                    }
                    guard let place = state.takePlace("sessions/y", of: 3, "") else { continue }
                    let used = now.withLock { now in
                        now += 1
                        return now
                    }
                    most.withLock { $0 = max($0, used) }
                    now.withLock { $0 -= 1 }
                    place.release()
                }
            }
            #expect(state.record("breakers/x")?["n"] == "160")
            #expect(most.withLock { $0 } <= 3)
        }
    }

    @Test func whereItIs() {
        func folder(_ variables: [String: String]) -> String? { SelectionState.folder { variables[$0] } }
        #expect(folder(["VATOOLBOX_STATE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"]) == "/a")
        #expect(folder(["VATOOLBOX_STATE": "", "XDG_CACHE_HOME": "/b", "HOME": "/c"]) == "/b/vatoolbox")
        #expect(folder(["XDG_CACHE_HOME": "relative", "HOME": "/c"]) == "/c/.cache/vatoolbox")
        #expect(folder([:]) == nil)
    }

    /// Looking makes no folder.
    @Test func nothingIsMadeBeforeItIsNeeded() {
        let folder = Folder()
        let state = SelectionState(folder: "\(folder.path)/new")
        #expect(state.record("proofs/x") == nil && state.names("proofs").isEmpty)
        #expect(access("\(folder.path)/new", F_OK) != 0)
    }
}

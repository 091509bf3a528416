// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Glibc
import MediaTypes
import Synchronization

/// Pictures that are kept.
enum Holding {
    /// A reader that holds all buffers gets no picture until one is released, and learns how many it has missed.
    static func held() throws {
        let camera = try Rig.camera(
            ["format NV12 64x48@30", "pace 2000", "buffers 4"],
            .init(size: .init(64, 48))
        )
        var number = -1
        var held: [(number: Int, picture: CapturedPicture)] = []
        for _ in 0..<4 {
            let picture = try camera.read()
            number += 1 + picture.lostBefore
            try Drawing.check(picture.buffer, is: number)
            held.append((number, picture))
        }
        let handed = Handed(held)
        held = []
        let before = Rig.lost()
        let releaser = Thread {
            // The camera loses pictures meanwhile, and the reader waits.
            _ = Rig.wait { Rig.lost() >= before + 5 }
            for (number, picture) in handed.value { try? Drawing.check(picture.buffer, is: number) }
            handed.value = []
        }
        let next = try camera.read()
        releaser.join()
        try expect(next.lostBefore >= 5, "lost only \(next.lostBefore)")
        number += 1 + next.lostBefore
        try Drawing.check(next.buffer, is: number)
        for _ in 0..<20 {
            let picture = try camera.read()
            number += 1 + picture.lostBefore
            try Drawing.check(picture.buffer, is: number)
        }
    }

    /// Pictures outlive the camera, which another reader can open meanwhile.
    static func closedWithPictures() throws {
        for isExported in [true, false] {
            let description = ["format YUYV 64x48@30"] + (isExported ? [] : ["unexported"])
            let before = Rig.resources()
            var camera: V4L2Camera? = try Rig.camera(description, .init(size: .init(64, 48)))
            let controls = camera?.controls
            var pictures: [CapturedPicture] = []
            for _ in 0..<3 { if let picture = try camera?.read() { pictures.append(picture) } }
            camera = nil
            try expectError(.invalidState) { _ = try controls?.all() }
            try expect(Rig.mappings() == 3, "\(Rig.mappings()) buffers are mapped")
            let second = try V4L2Camera(.init(size: .init(64, 48)), in: Rig.folder, stop: try StopSignal())
            try Drawing.check(second.read().buffer, is: 0)
            for (number, picture) in pictures.enumerated() { try Drawing.check(picture.buffer, is: number) }
            let handed = Handed(pictures)
            pictures = []
            Thread { handed.value = [] }.join()
            withExtendedLifetime(second) {}
            try expect(Rig.resources().count == before.count, "resources")
        }
    }

    /// Many threads read and release pictures while the camera goes on, and when it is closed.
    static func threads() throws {
        for isExported in [true, false] {
            let description = ["format NV12 64x48@30", "pace 300"] + (isExported ? [] : ["unexported"])
            var camera: V4L2Camera? = try Rig.camera(description, .init(size: .init(64, 48)))
            let queue = PictureQueue()
            let readers = (0..<3).map { _ in Thread { queue.run() } }
            var number = -1
            for _ in 0..<300 {
                guard let picture = try camera?.read() else { break }
                number += 1 + picture.lostBefore
                queue.add(number, picture)
            }
            camera = nil
            queue.end(readers: readers.count)
            for reader in readers { reader.join() }
            try expect(queue.wrong == nil, "\(queue.wrong ?? "")")
            say("\(queue.checked) pictures")
            try expect(queue.checked == 300, "checked \(queue.checked)")
        }
    }
}

/// Pictures for threads that check them.
private final class PictureQueue: @unchecked Sendable {
    private struct State {
        var pictures: [(Int, CapturedPicture)] = []
        var checked = 0
        var wrong: String?
    }

    private let state = Mutex(State())
    /// Counts the pictures, and the ends: one for each thread, after all pictures.
    private let ready = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(ready, 0, 0) }

    deinit {
        sem_destroy(ready)
        ready.deallocate()
    }

    var checked: Int { state.withLock { $0.checked } }
    var wrong: String? { state.withLock { $0.wrong } }

    func add(_ number: Int, _ picture: CapturedPicture) {
        state.withLock { $0.pictures.append((number, picture)) }
        sem_post(ready)
    }

    func end(readers: Int) { for _ in 0..<readers { sem_post(ready) } }

    func run() {
        while true {
            while sem_wait(ready) != 0 {}
            let next = state.withLock { $0.pictures.isEmpty ? nil : $0.pictures.removeFirst() }
            guard let (number, picture) = next else { return }
            do {
                try Drawing.check(picture.buffer, is: number)
                state.withLock { $0.checked += 1 }
            } catch {
                state.withLock { $0.wrong = "\(error)" }
            }
        }
    }
}

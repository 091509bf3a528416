// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Testing

@testable import HelperIPC

/// Where the helper program is looked for.
@Suite struct HelperLocationTests {
    private func find(
        _ explicit: String? = nil,
        _ program: HelperProgram = .encoding,
        environment: [String: String] = [:],
        programs: Set<String>
    ) throws(MediaError) -> String {
        try HelperLocation.find(
            program,
            at: explicit,
            environment: { environment[$0] },
            executable: "/opt/app/bin/app",
            isProgram: { programs.contains($0) }
        )
    }

    @Test func theOrderOfPlaces() throws {
        let beside = "/opt/app/bin/vatoolbox-helper"
        let variables = ["PATH": "/first:/second", "VATOOLBOX_HELPER": "/named"]
        let programs: Set = ["/explicit", "/named", beside, "/second/vatoolbox-helper"]
        #expect(try find("/explicit", environment: variables, programs: programs) == "/explicit")
        #expect(try find(environment: variables, programs: programs) == "/named")
        #expect(try find(environment: ["PATH": "/second"], programs: programs) == beside)
        let elsewhere: Set = ["/second/vatoolbox-helper"]
        #expect(try find(environment: ["PATH": "/first:/second"], programs: elsewhere) == "/second/vatoolbox-helper")
    }

    @Test func whatWasNamedIsNotReplaced() {
        let programs: Set = ["/opt/app/bin/vatoolbox-helper"]
        let explicit = #expect(throws: MediaError.self) { try find("/explicit", programs: programs) }
        #expect(explicit?.given == "/explicit")
        let variable = #expect(throws: MediaError.self) {
            try find(environment: ["VATOOLBOX_HELPER": "/named"], programs: programs)
        }
        #expect(variable?.description == "the helper program (VATOOLBOX_HELPER) cannot be run: given /named")
    }

    /// Each program has a name and a variable of its own.
    @Test func theProgramsAreToldApart() throws {
        let programs: Set = ["/opt/app/bin/vatoolbox-helper", "/named", "/second/vatoolbox-decoding-helper"]
        let variables = ["PATH": "/second", "VATOOLBOX_HELPER": "/named"]
        #expect(try find(nil, .encoding, environment: variables, programs: programs) == "/named")
        #expect(
            try find(nil, .decoding, environment: variables, programs: programs) == "/second/vatoolbox-decoding-helper"
        )
        let named = ["VATOOLBOX_DECODING_HELPER": "/named"]
        #expect(try find(nil, .decoding, environment: named, programs: programs) == "/named")
        let error = #expect(throws: MediaError.self) { try find(nil, .decoding, programs: []) }
        #expect(
            error?.remedies.first == "set its path: export VATOOLBOX_DECODING_HELPER=/path/to/vatoolbox-decoding-helper"
        )
    }

    @Test func theErrorNamesThePlaces() {
        let error = #expect(throws: MediaError.self) { try find(environment: ["PATH": "/a:/b"], programs: []) }
        let places = "/opt/app/bin/vatoolbox-helper, /a/vatoolbox-helper, /b/vatoolbox-helper"
        #expect(error?.code == .unavailable && error?.allowed == places)
    }
}

/// Which memory the helper knows.
@Suite struct PictureSlotTests {
    @Test func memoryIsSentOnceAndTheOldestForgotten() throws {
        let memories = try (0..<3).map { _ in
            try PixelBuffer.shared()
        }
        let numbers = memories.compactMap(\.memoryDescriptor)
        #expect(numbers.count == 3)
        var slots = PictureSlots(limit: 2)
        let places = try [0, 1, 0, 2, 0, 1].map { try slots.place(numbers[$0], byteCount: 64) }
        #expect(places.map(\.slot) == [0, 1, 0, 2, 0, 3])
        #expect(places.map(\.isNew) == [true, true, false, true, false, true])
        #expect(places.map(\.forgotten) == [[], [], [], [1], [], [2]])
        withExtendedLifetime(memories) {}
    }

    /// What the helper does to an opening of its own is not seen by who reads the file here.
    @Test func aFileIsOpenedAgain() throws {
        let file = try #require(tmpfile())
        defer { fclose(file) }
        let number = fileno(file)
        #expect(write(number, "0123456789", 10) == 10)
        var slots = PictureSlots()
        #expect(try slots.canTake(file: number))
        let place = try slots.place(number, byteCount: 0, isReopened: true)
        #expect(place.isNew && place.descriptor != number)
        #expect(lseek(place.descriptor, 3, SEEK_SET) == 3 && lseek(number, 0, SEEK_CUR) == 10)
        let flags = fcntl(number, F_GETFL)
        #expect(fcntl(place.descriptor, F_SETFL, O_NONBLOCK | O_APPEND) == 0 && fcntl(number, F_GETFL) == flags)
        #expect(write(place.descriptor, "x", 1) == -1, "it is for reading only")
        #expect(try slots.place(number, byteCount: 0, isReopened: true).descriptor == place.descriptor)
        // A socket cannot be opened.
        let sockets = try DescriptorPair.sockets()
        #expect(try !slots.canTake(file: sockets.near.number))
        #expect(throws: MediaError.self) { try slots.place(sockets.near.number, byteCount: 0, isReopened: true) }
    }

    /// The number of a closed descriptor is used again for other memory.
    @Test func anotherMemoryUnderTheSameNumberIsNew() throws {
        var slots = PictureSlots()
        for slot in 0..<4 {
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-test", byteCount: 64)
            let place = try slots.place(memory.number, byteCount: 64)
            #expect(place.slot == UInt32(slot) && place.isNew && place.forgotten.isEmpty)
            memory.keepOpen()
        }
        let error = #expect(throws: MediaError.self) {
            var slots = PictureSlots()
            _ = try slots.place(-1, byteCount: 64)
        }
        #expect(error?.call == "fstat")
    }

    /// What a pool has freed is not kept for ever; what an encoder holds at once is.
    @Test func largeMemoryIsForgottenEarlier() throws {
        var slots = PictureSlots(limit: 128, byteLimit: 1000)
        var forgotten: [UInt32] = []
        for _ in 0..<40 {
            let memory = try SharedMapping.makeMemory(named: "vatoolbox-test", byteCount: 64)
            forgotten += try slots.place(memory.number, byteCount: 100).forgotten
        }
        #expect(forgotten == Array(0..<24))
    }
}

extension PixelBuffer {
    fileprivate static func shared() throws -> PixelBuffer {
        try PixelBufferPool(.init(format: .nv12, width: 16, height: 16), memory: .shared).make()
    }

    fileprivate var memoryDescriptor: Int32? {
        if case .sharedMemory(let memory) = storage { memory.fileDescriptor } else { nil }
    }
}

/// The last lines of a helper.
@Suite struct LogTailTests {
    @Test func linesArePutTogetherAndBounded() {
        var tail = LogTail()
        let lines = ["a", "b\n\nc", "d\n"].map { tail.add($0.utf8) }
        #expect(lines == [[], ["ab"], ["cd"]])
        let long = tail.add(String(repeating: "x", count: 2500).utf8)
        #expect(long.map(\.count) == [1024, 1024])
        let last = tail.finish()
        #expect(last?.count == 452)
        for index in 0..<9 { tail.add("\(index)") }
        #expect(tail.explanation == "; it said: 4 | 5 | 6 | 7 | 8")
    }
}

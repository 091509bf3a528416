// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import MediaTypes
import Synchronization
import Testing

@Suite struct PixelFormatTests {
    @Test(arguments: [
        (PixelFormat.nv12, [(6, 4), (6, 2)], [(5, 3), (6, 2)]),
        (.i420, [(6, 4), (3, 2), (3, 2)], [(5, 3), (3, 2), (3, 2)]),
        (.p010, [(12, 4), (12, 2)], [(10, 3), (12, 2)]),
        (.bgra, [(24, 4)], [(20, 3)]),
        (.yuy2, [(12, 4)], [(12, 3)]),
    ])
    func planesHaveTheExtentOfTheirFormat(format: PixelFormat, even: [(Int, Int)], odd: [(Int, Int)]) {
        #expect(format.planeCount == even.count)
        for plane in 0..<even.count {
            let extent = format.planeExtent(plane, width: 6, height: 4)
            #expect(extent?.bytesPerRow == even[plane].0)
            #expect(extent?.rows == even[plane].1)
            let oddExtent = format.planeExtent(plane, width: 5, height: 3)
            #expect(oddExtent?.bytesPerRow == odd[plane].0)
            #expect(oddExtent?.rows == odd[plane].1)
        }
    }

    @Test(arguments: PixelFormat.allCases)
    func planesAndSizesOutOfRangeHaveNoExtent(format: PixelFormat) {
        for plane in [-1, format.planeCount, .min, .max] {
            #expect(format.planeExtent(plane, width: 16, height: 16) == nil)
        }
        for side in [0, -1, 32769, .min, .max] {
            #expect(format.planeExtent(0, width: side, height: 16) == nil)
            #expect(format.planeExtent(0, width: 16, height: side) == nil)
        }
        #expect(format.planeExtent(0, width: 32768, height: 32768) != nil)
    }
}

@Suite struct PixelBufferTests {
    @Test(arguments: PixelFormat.allCases, [(1, 1), (5, 3), (64, 2), (1921, 17)])
    func ownedPlanesAreAlignedAndApart(format: PixelFormat, size: (width: Int, height: Int)) throws {
        let buffer = try PixelBuffer(.init(format: format, width: size.width, height: size.height))
        #expect(buffer.isMapped)
        try buffer.withPlanes { planes throws(MediaError) in
            #expect(planes.count == format.planeCount)
            var ranges: [Range<UInt>] = []
            for (index, plane) in planes.enumerated() {
                guard let extent = format.planeExtent(index, width: size.width, height: size.height) else {
                    Issue.record("plane \(index)")
                    continue
                }
                let start = UInt(bitPattern: plane.baseAddress)
                #expect(start % 64 == 0)
                #expect(plane.bytesPerRow % 64 == 0 && plane.bytesPerRow >= extent.bytesPerRow)
                let byteCount = plane.bytesPerRow * extent.rows
                memset(plane.baseAddress, 0xEE, byteCount)
                for other in ranges { #expect(!other.overlaps(start..<start + UInt(byteCount))) }
                ranges.append(start..<start + UInt(byteCount))
            }
        }
    }

    @Test func aBufferKeepsItsDescription() throws {
        var description = PixelBuffer.Description(
            format: .p010,
            width: 20,
            height: 10,
            color: .hdr10,
            pixelAspectRatio: Rational(4, 3),
            attachments: .init(captions: [1, 2, 3])
        )
        let buffer = try PixelBuffer(description)
        #expect(buffer.pictureDescription == description)
        buffer.attachments.captions = []
        description.attachments.captions = []
        #expect(buffer.pictureDescription == description)
    }

    @Test func sizesOutOfRangeAreRefused() {
        for (width, height) in [(0, 2), (2, 0), (-1, 2), (32769, 2), (2, .max), (.min, .min)] {
            let error = #expect(throws: MediaError.self) {
                try PixelBuffer(.init(format: .nv12, width: width, height: height))
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.given == "\(width)x\(height)")
            #expect(error?.allowed == "1x1 to 32768x32768")
        }
    }

    // MARK: Caller's memory

    private static func planes(_ rows: [Int], at base: UnsafeMutableRawPointer) -> [PixelPlane] {
        rows.map { PixelPlane(baseAddress: base, bytesPerRow: $0) }
    }

    @Test func callersMemoryIsReleasedExactlyOnceAfterTheLastReference() throws {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 1024, alignment: 64)
        defer { memory.deallocate() }
        let releases = Mutex(0)
        var buffer: PixelBuffer? = try PixelBuffer(
            .init(format: .bgra, width: 4, height: 4),
            planes: Self.planes([32], at: memory)
        ) { releases.withLock { $0 += 1 } }
        var second = buffer
        let address = try buffer?.withPlanes { planes throws(MediaError) in planes[0].baseAddress }
        #expect(address == memory)
        buffer = nil
        #expect(releases.withLock { $0 } == 0)
        #expect(second != nil)
        second = nil
        #expect(releases.withLock { $0 } == 1)
    }

    @Test(arguments: [
        (PixelFormat.nv12, [16], "1", "2"), (.nv12, [16, 16, 16], "3", "2"), (.i420, [], "0", "3"),
        (.nv12, [15, 16], "15 bytes", "multiples of 1 from 16 to 16777216"),
        (.i420, [16, 7, 8], "7 bytes", "multiples of 1 from 8 to 16777216"),
        (.p010, [32, 33], "33 bytes", "multiples of 2 from 32 to 16777216"),
        (.bgra, [-64], "-64 bytes", "multiples of 1 from 64 to 16777216"),
        (.bgra, [.max], "\(Int.max) bytes", "multiples of 1 from 64 to 16777216"),
    ])
    func wrongPlanesAreRefusedWithoutRelease(format: PixelFormat, rows: [Int], given: String, allowed: String) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
        defer { memory.deallocate() }
        let releases = Mutex(0)
        let error = #expect(throws: MediaError.self) {
            try PixelBuffer(.init(format: format, width: 16, height: 16), planes: Self.planes(rows, at: memory)) {
                releases.withLock { $0 += 1 }
            }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.given == given)
        #expect(error?.allowed == allowed)
        #expect(releases.withLock { $0 } == 0)
    }

    @Test func wordsAtOddAddressesAreRefused() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
        defer { memory.deallocate() }
        let error = #expect(throws: MediaError.self) {
            try PixelBuffer(
                .init(format: .p010, width: 2, height: 2),
                planes: Self.planes([4, 4], at: memory + 1),
                release: {}
            )
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.allowed == "a multiple of 2")
    }

    // MARK: Devices

    private final class Surface: DeviceSurface {
        let device = "/dev/dri/renderD128"
    }

    @Test func memoryThatOnlyDevicesUnderstandCannotBeRead() throws {
        let planes = [0, 4096].map { DMABuffer.Plane(object: 0, layout: .init(offset: $0, bytesPerRow: 64)) }
        let releases = Mutex(0)
        do {
            let description = PixelBuffer.Description(format: .nv12, width: 64, height: 64)
            let dmaBuf = DMABuffer(fileDescriptors: [-1], planes: planes, modifier: 0x7B)
            let buffers = [
                try PixelBuffer(description, dmaBuf: dmaBuf) { releases.withLock { $0 += 1 } },
                try PixelBuffer(description, surface: Surface()),
            ]
            for buffer in buffers {
                #expect(!buffer.isMapped)
                let error = #expect(throws: MediaError.self) { try buffer.withPlanes { _ throws(MediaError) in } }
                #expect(error?.code == .unsupported)
                #expect(error?.given == buffer.storage.name)
            }
        }
        #expect(releases.withLock { $0 } == 1)
    }

    /// Exports a memfd, or whatever it is given.
    private final class ExportedSurface: DeviceSurface {
        let device = "/dev/dri/renderD128"
        let releases = Mutex(0)
        private let memory: DMABuffer?
        init(_ memory: DMABuffer?) { self.memory = memory }
        func export(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
            guard let memory else { return try PixelBuffer(picture) }
            return try PixelBuffer(picture, dmaBuf: memory) { self.releases.withLock { $0 += 1 } }
        }
    }

    @Test func anExportedPictureKeepsItsSurface() throws {
        var description = PixelBuffer.Description(format: .nv12, width: 64, height: 64, color: .bt709)
        description.attachments.captions = [1, 2, 3]
        let planes = [0, 4096].map { DMABuffer.Plane(object: 0, layout: .init(offset: $0, bytesPerRow: 64)) }
        let memory = DMABuffer(fileDescriptors: [-1], planes: planes, modifier: 0x7B)
        let surface = ExportedSurface(memory)
        let releases = Mutex(0)
        var picture: PixelBuffer? = try PixelBuffer(description, surface: surface) { releases.withLock { $0 += 1 } }
        var exported = try picture?.exportDMABuf()
        #expect(exported?.pictureDescription == description)
        guard case .dmaBuf(memory) = exported?.storage else {
            Issue.record("\(exported?.storage.name ?? "nothing")")
            return
        }
        #expect(try exported?.exportDMABuf() === exported)
        picture = nil
        #expect(releases.withLock { $0 } == 0 && surface.releases.withLock { $0 } == 0)
        exported = nil
        #expect(releases.withLock { $0 } == 1 && surface.releases.withLock { $0 } == 1)
    }

    @Test func onlyPicturesOnDevicesAreExported() throws {
        let description = PixelBuffer.Description(format: .nv12, width: 64, height: 64)
        func error(_ picture: PixelBuffer) -> MediaError? {
            do throws(MediaError) { _ = try picture.exportDMABuf() } catch { return error }
            return nil
        }
        let owned = error(try PixelBuffer(description))
        #expect(owned?.code == .unsupported && owned?.given == "owned memory")
        let device = error(try PixelBuffer(description, surface: Surface()))
        #expect(device?.code == .unsupported && device?.given == "/dev/dri/renderD128")
        let other = error(try PixelBuffer(description, surface: ExportedSurface(nil)))
        #expect(other?.code == .malformedData && other?.given == "owned memory")
        let plane = DMABuffer.Plane(object: 0, layout: .init(offset: 0, bytesPerRow: 64))
        let lying = DMABuffer(fileDescriptors: [-1], planes: [plane], modifier: 0)
        #expect(error(try PixelBuffer(description, surface: ExportedSurface(lying)))?.code == .invalidArgument)
    }

    @Test(arguments: [(1, 0), (-1, 0), (0, -64)])
    func planesOutsideOfADMABufAreRefused(object: Int, offset: Int) {
        let plane = DMABuffer.Plane(object: object, layout: .init(offset: offset, bytesPerRow: 64))
        let error = #expect(throws: MediaError.self) {
            try PixelBuffer(
                .init(format: .bgra, width: 16, height: 16),
                dmaBuf: DMABuffer(fileDescriptors: [-1], planes: [plane], modifier: 0),
                release: {}
            )
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.given == "object \(object), offset \(offset)")
    }
}

@Suite struct PixelBufferPoolTests {
    private static let description = PixelBuffer.Description(
        format: .nv12,
        width: 66,
        height: 34,
        color: .bt709,
        attachments: .init(captions: [9])
    )

    private func address(_ buffer: PixelBuffer) throws -> UnsafeMutableRawPointer {
        try buffer.withPlanes { planes throws(MediaError) in planes[0].baseAddress }
    }

    @Test func buffersAreWhatThePoolSaysUnlessToldOtherwise() throws {
        let pool = try PixelBufferPool(Self.description)
        #expect(try pool.make().pictureDescription == Self.description)
        let other = try pool.make(color: .bt601, attachments: .init())
        #expect(other.color == .bt601)
        #expect(other.attachments == .init())
        #expect(throws: MediaError.self) { try PixelBufferPool(.init(format: .nv12, width: 0, height: 2)) }
    }

    @Test(arguments: [PixelBufferPool.Memory.owned, .shared])
    func memoryOfReleasedBuffersIsUsedAgain(memory: PixelBufferPool.Memory) throws {
        let pool = try PixelBufferPool(Self.description, memory: memory)
        let kept = try pool.make()
        let first = try address(pool.make())
        #expect(try address(kept) != first)
        for _ in 0..<3 { #expect(try address(pool.make()) == first) }
        let taken = try pool.make()
        let third = try pool.make()
        #expect(try address(taken) == first)
        #expect(try Set([kept, taken, third].map(address)).count == 3)
    }

    /// What devices are told of once: whole pages, the same object each time, with room for whole macroblocks.
    @Test func privateMemoryIsPagesForDevices() throws {
        let pool = try PixelBufferPool(Self.description)
        var owners: [ObjectIdentifier] = []
        for _ in 0..<2 {
            let buffer = try pool.make()
            var fills = 0
            for _ in 0..<2 {
                let pages = try #require(buffer.pages { _ in fills += 1 })
                let start = UInt(bitPattern: pages.bytes.baseAddress)
                #expect(start % 4096 == 0 && pages.bytes.count % 4096 == 0)
                #expect(try address(buffer) == pages.bytes.baseAddress)
                #expect(pages.planes.map(\.offset) == [0, 48 * 128])
                #expect(pages.planes.map(\.bytesPerRow) == [128, 128])
                #expect(pages.bytes.count >= (48 + 24) * 128)
                owners.append(ObjectIdentifier(pages.owner))
            }
            #expect(fills == 1)
        }
        #expect(Set(owners).count == 1)
        #expect(try PixelBufferPool(Self.description, memory: .shared).make().pages { _ in } == nil)
        #expect(try PixelBuffer(Self.description).pages { _ in } == nil)
    }

    @Test func theLimitCountsBuffersInUse() throws {
        let pool = try PixelBufferPool(Self.description, limit: 2)
        var buffers = [try pool.make(), try pool.make()]
        for _ in 0..<2 {
            let error = #expect(throws: MediaError.self) { try pool.make() }
            #expect(error?.code == .unavailable)
            #expect(error?.allowed == "2")
            #expect(error?.isPermanent == false)
            buffers.removeLast()
            buffers.append(try pool.make())
        }
        #expect(buffers.count == 2)
    }

    /// How many open descriptors of this process are files of that size, which no other test uses.
    private func descriptorCount(ofSize byteCount: Int) -> Int {
        (0..<getdtablesize()).count { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && Int(status.st_size) == byteCount
        }
    }

    @Test func trimmingFreesOnlyWhatIsIdle() throws {
        let pool = try PixelBufferPool(.init(format: .bgra, width: 1234, height: 3), memory: .shared)
        let kept = try pool.make()
        let byteCount = try #require(sharedMemory(kept)).byteCount
        _ = try [pool.make(), pool.make()]
        #expect(descriptorCount(ofSize: byteCount) == 3)
        pool.trim()
        #expect(descriptorCount(ofSize: byteCount) == 1)
        try write(7, to: kept)
    }

    @Test func buffersOutliveTheirPool() throws {
        var pool: PixelBufferPool? = try PixelBufferPool(
            .init(format: .bgra, width: 1250, height: 5),
            memory: .shared
        )
        var buffer = try pool?.make()
        pool = nil
        #expect(pool == nil)
        let byteCount = try #require(buffer.flatMap(sharedMemory)).byteCount
        #expect(descriptorCount(ofSize: byteCount) == 1)
        if let buffer { try write(7, to: buffer) }
        buffer = nil
        #expect(buffer == nil)
        #expect(descriptorCount(ofSize: byteCount) == 0)
    }

    /// Fills the first plane of a buffer whose memory has to be there.
    private func write(_ value: UInt8, to buffer: PixelBuffer) throws {
        let extent = try #require(buffer.format.planeExtent(0, width: buffer.width, height: buffer.height))
        try buffer.withPlanes { planes throws(MediaError) in
            let count = planes[0].bytesPerRow * extent.rows
            memset(planes[0].baseAddress, Int32(value), count)
            #expect(planes[0].baseAddress.load(fromByteOffset: count - 1, as: UInt8.self) == value)
        }
    }

    // MARK: Shared memory

    private func sharedMemory(_ buffer: PixelBuffer) -> SharedMemory? {
        guard case .sharedMemory(let memory) = buffer.storage else { return nil }
        return memory
    }

    @Test func sharedMemoryHasASealedSize() throws {
        let memory = try #require(sharedMemory(PixelBufferPool(Self.description, memory: .shared).make()))
        // Buffer and pool are gone: only values may be looked at.
        #expect(memory.byteCount == memory.planes[1].offset + memory.planes[1].bytesPerRow * 17)

        let buffer = try PixelBufferPool(Self.description, memory: .shared).make()
        let descriptor = try #require(sharedMemory(buffer)).fileDescriptor
        var status = stat()
        #expect(fstat(descriptor, &status) == 0)
        #expect(Int(status.st_size) == memory.byteCount)
        // F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW of linux/fcntl.h.
        #expect(linux_get_seals(descriptor) & 0x7 == 0x7)
        #expect(ftruncate(descriptor, 1) == -1)
        #expect(errno == EPERM)
        #expect(ftruncate(descriptor, 1 << 20) == -1)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        withExtendedLifetime(buffer) {}
    }

    @Test func othersCannotWriteToSharedMemory() throws {
        let buffer = try PixelBufferPool(Self.description, memory: .shared).make()
        let memory = try #require(sharedMemory(buffer))
        try write(17, to: buffer)
        var byte: UInt8 = 99
        // Swift's C library module does not show it.
        typealias Allocation = @convention(c) (Int32, Int32, Int, Int) -> Int32
        let allocate = unsafeBitCast(try #require(dlsym(nil, "fallocate")), to: Allocation.self)
        // As another process has it: by the descriptor, and by one of its own that is open for writing.
        let reopened = open("/proc/self/fd/\(memory.fileDescriptor)", O_RDWR | O_CLOEXEC)
        try #require(reopened >= 0)
        defer { close(reopened) }
        for descriptor in [memory.fileDescriptor, reopened] {
            #expect(mmap(nil, memory.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED)
            #expect(errno == EPERM)
            #expect(pwrite(descriptor, &byte, 1, 0) == -1 && errno == EPERM)
            // FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE.
            #expect(allocate(descriptor, 1 | 2, 0, 4096) == -1 && errno == EPERM)
        }
        let mapping = try #require(mmap(nil, memory.byteCount, PROT_READ, MAP_SHARED, reopened, 0))
        try #require(mapping != MAP_FAILED)
        defer { munmap(mapping, memory.byteCount) }
        #expect(mprotect(mapping, memory.byteCount, PROT_READ | PROT_WRITE) == -1)
        #expect(madvise(mapping, memory.byteCount, MADV_REMOVE) == -1)
        #expect(mapping.load(as: UInt8.self) == 17)
        // The buffer itself goes on writing, and others see it.
        try write(18, to: buffer)
        #expect(mapping.load(as: UInt8.self) == 18)
    }

    @Test func sharedMemoryCanBeMappedASecondTime() throws {
        let buffer = try PixelBufferPool(Self.description, memory: .shared).make()
        let memory = try #require(sharedMemory(buffer))
        let mapping = try #require(mmap(nil, memory.byteCount, PROT_READ, MAP_SHARED, memory.fileDescriptor, 0))
        try #require(mapping != MAP_FAILED)
        defer { munmap(mapping, memory.byteCount) }
        try buffer.withPlanes { planes throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                let layout = memory.planes[index]
                #expect(layout.bytesPerRow == plane.bytesPerRow)
                plane.baseAddress.storeBytes(of: UInt8(100 + index), as: UInt8.self)
                #expect((mapping + layout.offset).load(as: UInt8.self) == UInt8(100 + index))
            }
        }
    }
}

@Suite struct ScalingModeTests {
    private let source = PixelBuffer.Description(
        format: .nv12,
        width: 720,
        height: 576,
        pixelAspectRatio: Rational(16, 11)
    )

    @Test func shapesThatAreKeptKeepTheirPixels() {
        for mode in [ScalingMode.letterbox, .aspectFill] {
            #expect(mode.pixelAspectRatio(scaling: source, toWidth: 1280, height: 720) == Rational(16, 11))
        }
        var unknown = source
        unknown.pixelAspectRatio = Rational(0, 1)
        #expect(ScalingMode.letterbox.pixelAspectRatio(scaling: unknown, toWidth: 64, height: 64) == .one)
    }

    @Test func stretchingKeepsTheDisplayAspect() {
        let ratio = ScalingMode.stretch.pixelAspectRatio(scaling: source, toWidth: 1280, height: 720)
        #expect(ratio == Rational(720 * 16 * 720, 576 * 11 * 1280))
        #expect(ScalingMode.stretch.pixelAspectRatio(scaling: source, toWidth: 720, height: 576) == Rational(16, 11))
    }

    @Test func ratiosBeyond32BitsAreApproximated() {
        var extreme = source
        extreme.width = 32767
        extreme.height = 3
        extreme.pixelAspectRatio = Rational(.max, 7)
        let ratio = ScalingMode.stretch.pixelAspectRatio(scaling: extreme, toWidth: 2, height: 32749)
        #expect(ratio.isPositive)
        #expect(ScalingMode.stretch.pixelAspectRatio(scaling: extreme, toWidth: 0, height: -1) == Rational(.max, 7))
        extreme.pixelAspectRatio = Rational(2_147_483_629, 2_147_483_647)
        let close = ScalingMode.stretch.pixelAspectRatio(scaling: extreme, toWidth: 32749, height: 3)
        #expect(abs(close.doubleValue * 32749 / 32767 - 2_147_483_629 / 2_147_483_647) < 1e-6)
    }
}

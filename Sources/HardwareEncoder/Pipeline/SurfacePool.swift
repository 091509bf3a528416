// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization
internal import VAAPI

/// A pool of equal surfaces, which are created on demand and reused. It grows to the number in use at the same time.
final class SurfacePool: Sendable {
    private let display: Display
    private let request: SurfaceRequest
    private let free = Mutex<[Surface]>([])

    init(_ display: consuming Display, _ request: SurfaceRequest) {
        self.display = display
        self.request = request
    }

    /// Returns a surface that is not in use.
    func take() throws(VAError) -> PooledSurface {
        let known = free.withLock { $0.popLast() }
        if let known { return PooledSurface(known, self) }
        return PooledSurface(try display.makeSurfaces(1, request)[0], self)
    }

    fileprivate func giveBack(_ surface: Surface) { free.withLock { $0.append(surface) } }
}

/// A surface that returns to its pool when its last owner releases it.
final class PooledSurface: Sendable {
    let surface: Surface
    private let pool: SurfacePool

    fileprivate init(_ surface: Surface, _ pool: SurfacePool) {
        self.surface = surface
        self.pool = pool
    }

    deinit { pool.giveBack(surface) }
}

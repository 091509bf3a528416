// SPDX-License-Identifier: GPL-2.0-or-later

internal import CoreMetrics

/// Counts helper processes in the metrics system (swift-metrics) of the program; docs/metrics.md describes the metrics.
struct HelperMetrics: Sendable {
    private let factory: any MetricsFactory

    /// - Parameter factory: The metrics system.
    init(_ factory: any MetricsFactory = MetricsSystem.factory) { self.factory = factory }

    func started() { Counter(label: "vatoolbox_helpers_started", factory: factory).increment() }

    /// - Parameters:
    ///   - ending: How it ended on its own; `nil` if it was ended by the host.
    ///   - wasAsked: Whether it was asked to end.
    func ended(_ ending: HelperProcess.Ending?, wasAsked: Bool) {
        let how =
            switch ending {
            case .exited(0) where wasAsked: "closed"
            case .exited, .unknown: "exited"
            case .killed: "crashed"
            case nil: "killed"
            }
        Counter(label: "vatoolbox_helpers_ended", dimensions: [("ending", how)], factory: factory).increment()
    }
}
